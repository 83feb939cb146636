import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { it } from 'node:test';
import { type Engine, makeTwoTenants, message, onEveryEngine, shortOrLong, startService } from '../support/harness.ts';

const source = (path: string) => JSON.stringify(new URL(`../../src/${path}`, import.meta.url).href);

/** A process that numbers changes and is killed before its nth statement. It prints a line if it gets to the end. */
const scripts: Record<Engine, (url: string, nth: number) => string> = {
  sqlite: (url, nth) => `
    import { Connection } from ${source('store/sqlite/connection.ts')};
    import { runWrite } from ${source('store/sqlite/run-write.ts')};
    import { dialect } from ${source('store/sqlite/statements.ts')};
    import { sequenceChanges } from ${source('store/changes/sequencing.ts')};
    const db = new Connection(${JSON.stringify(url.replace('sqlite:', ''))}, 5000);
    let count = 0;
    for (const method of ['get', 'all', 'run']) {
      const original = db[method].bind(db);
      db[method] = (...values) => {
        if (++count === ${nth}) process.kill(process.pid, 'SIGKILL');
        return original(...values);
      };
    }
    db.run('BEGIN IMMEDIATE');
    runWrite(db, sequenceChanges(undefined, { dialect }));
    db.run('COMMIT');
    console.log('done');`,
  postgres: (url, nth) => `
    import pg from 'pg';
    import { readConfig } from ${source('config.ts')};
    import { databaseOf } from ${source('store/open.ts')};
    const store = await databaseOf(readConfig({ DATABASE_URL: ${JSON.stringify(url)} })).open();
    let count = 0;
    const { query } = pg.Client.prototype;
    pg.Client.prototype.query = function (...values) {
      if (++count === ${nth}) process.kill(process.pid, 'SIGKILL');
      return query.apply(this, values);
    };
    await store.changes.sequence();
    console.log('done');
    await store.close();`,
};

/** Every statement in `npm run test:all`, some of them in `npm test`. */
const step = shortOrLong(6, 1);

onEveryEngine('kill -9 while changes are sequenced', (engine) => {
  it('loses and repeats nothing, before whichever statement it comes', async (t) => {
    const { one, admin, records } = makeTwoTenants();
    const service = await startService(engine);
    t.after(() => service.close());
    await service.load(records);
    const read = async (after: string) => {
      const { status, body } = await service.as(admin).get(`/admin/changes?after=${after}`);
      assert.equal(status, 200);
      assert.equal(body.has_more, false);
      return body as { data: { kind: string; id: string; cursor: string }[]; cursor: string };
    };
    let { cursor } = await read('now');
    let kills = 0;
    for (let nth = 1; ; nth += step) {
      const written = message(one.ids.conversation, nth);
      await service.load([{ record: 'workspace', id: one.ids.workspace, name: `${nth}` }, written]);
      const content = `text ${nth}`;
      await service.as(one.keys.knowledge).patch(one.chunkPath, { content });
      const script = scripts[engine](service.config.database_url, nth);
      const cwd = new URL('.', import.meta.url);
      const child = spawnSync(process.execPath, ['--input-type=module', '-e', script], { cwd, encoding: 'utf8' });
      const isKilled = child.signal === 'SIGKILL';
      assert.ok(isKilled || child.stdout === 'done\n', child.stderr);
      const page = await read(cursor);
      const expected = [`workspace ${one.ids.workspace}`, `message ${written.id}`, `child_chunk ${one.ids.chunk}`];
      assert.deepEqual(page.data.map(({ kind, id }) => `${kind} ${id}`).sort(), expected.sort());
      // Positions have no gap, so none was used twice or lost.
      const positions = [cursor, ...page.data.map((entry) => entry.cursor)].map((text) => Number(text.split('.')[1]));
      assert.deepEqual(
        positions.map((position) => position - (positions[0] ?? 0)),
        [0, 1, 2, 3],
      );
      cursor = page.cursor;
      if (!isKilled) break;
      kills += 1;
    }
    assert.ok(kills >= 5 / step, `${kills}`);
  });
});
