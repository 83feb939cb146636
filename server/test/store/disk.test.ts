import assert from 'node:assert/strict';
import { closeSync, openSync, writeSync } from 'node:fs';
import { readFile, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, it } from 'node:test';
import { diskWithFileLimit, fillDisk, findingsOf, serveReadOnly, smallDisk } from '../../../experiments/disk.ts';
import { Client } from '../../../experiments/support/disk-client.ts';
import type { Finding } from '../../../experiments/support/experiment.ts';
import {
  command,
  freePort,
  newFolder,
  newScope,
  run,
  sendRequest,
  serve,
  serveWithWorkers,
  withFileSizeLimit,
} from '../support/cli-helpers.ts';
import { makeTwoTenants, message, ndjson } from '../support/harness.ts';
import { itLong, shortOrLong } from '../support/long.ts';
import { until } from '../support/until.ts';

function assertHolds(findings: readonly Finding[]): void {
  assert.deepEqual(
    findings.filter(({ holds }) => !holds),
    [],
  );
}

/** Overwrites the first page of each of these tables and of their indexes. */
function damage(path: string, tables: readonly string[]): void {
  const db = new DatabaseSync(path, { readOnly: true });
  const bytes = Number(db.prepare('PRAGMA page_size').get()?.page_size);
  const roots = db.prepare('SELECT tbl_name, rootpage FROM sqlite_schema WHERE rootpage > 0').all();
  db.close();
  const file = openSync(path, 'r+');
  for (const { tbl_name, rootpage } of roots)
    if (tables.includes(String(tbl_name)))
      writeSync(file, Buffer.alloc(bytes, 0xee), 0, bytes, (Number(rootpage) - 1) * bytes);
  closeSync(file);
}

describe('disk failures', { concurrency: 2 }, () => {
  it('rejects writes with 503 and serves reads while the disk is full, and recovers by itself', async (t) => {
    // The database itself must fit: it grows with each of the cycles.
    const disk = await diskWithFileLimit(t, withFileSizeLimit(shortOrLong(6_000, 20_000)));
    assertHolds(
      findingsOf('a full disk', await fillDisk(disk, t, { cycles: shortOrLong(1, 5), requests: shortOrLong(20, 300) })),
    );
  });

  itLong(
    'rejects writes while too little is free to copy the log into the database, and recovers once enough is',
    async (t) => {
      // A test runs its hooks in the order in which they were added, but a disk in use cannot be removed.
      const scope = newScope();
      try {
        const disk = await smallDisk(scope, 32);
        if (disk === undefined) return t.diagnostic('not tested: mounting a disk is not permitted here');
        const world = makeTwoTenants();
        assert.equal((await run(['import', '-'], { ...disk.options, stdin: ndjson(world.records) })).code, 0);
        const client = new Client(await serve(scope, disk.options), world);
        // Together less than the size at which SQLite copies the log by itself.
        for (let at = 0; at < 40; at += 1) assert.equal(await client.write(), 200);
        disk.fill(0);
        await client.writeUntilRejected();
        // Each time the database file grows by this much. It needs the space of 40 texts of 20,000 bytes.
        for (let times = 0; times < 3; times += 1) {
          disk.freeSome(131_072);
          for (let at = 0; at < 5; at += 1) assert.equal(await client.write(), 503);
        }
        disk.free();
        assert.ok(Number.isFinite(await client.millisUntilAccepted()));
        assert.equal(await client.countLost(), 0);
      } finally {
        await scope.end();
      }
    },
  );

  itLong(
    'rejects writes with 503 and serves reads while the database is read-only, and recovers by itself',
    async () => {
      assertHolds(await serveReadOnly({ starts: 3, requests: 300 }));
    },
  );

  itLong('keeps running while the log cannot be written, and logs again as soon as it can', async (t) => {
    const cwd = await newFolder(t);
    const log = join(cwd, 'log');
    // The file has reached its size limit: the first line does not fit.
    await writeFile(log, 'x'.repeat(4_096_000));
    const port = await freePort();
    const shell = ['-c', `ulimit -S -f 8000; exec "$0" "$@" >> ${log}`, command];
    const serving = await serve(t, { cwd, env: { PORT: `${port}` }, command: '/bin/sh', before: shell });
    for (let at = 0; at < 20; at += 1)
      assert.equal((await sendRequest(serving.base, '/v1/nothing', 'none')).status, 404);
    assert.equal(serving.output(), '');
    await truncate(log);
    assert.equal((await sendRequest(serving.base, '/v1/nothing', 'none')).status, 404);
    await serving.end('SIGTERM');
    const lines = (await readFile(log, 'utf8')).trimEnd().split('\n');
    for (const line of lines) assert.ok(JSON.parse(line).level, line);
    assert.match(JSON.parse(lines[0] ?? '').msg, /^created a new database at /);
    assert.equal(JSON.parse(lines.at(-1) ?? '').msg, 'stopped');
  });
});

describe('a damaged database file', () => {
  it('503: whatever needs a damaged page, with one line in the log, and the service is not ready any more', async (t) => {
    const cwd = await newFolder(t);
    const { records, one, admin } = makeTwoTenants();
    const first = message(one.ids.conversation, 1);
    assert.equal((await run(['import', '-'], { cwd, stdin: ndjson([...records, first]) })).code, 0);
    damage(join(cwd, 'data', 'backscroll.db'), ['messages', 'child_chunks']);
    const { base, output } = await serveWithWorkers(t, { cwd, env: { SEARCH: 'off' } });
    const lines = ndjson([message(one.ids.conversation, 2)]);
    const page = `/v1/messages?conversation_id=${one.ids.conversation}`;
    const purge = { conversation_id: one.ids.conversation };
    const requests = () => [
      sendRequest(base, '/admin/records', one.keys.writer, { method: 'POST', lines }),
      sendRequest(base, one.chunkPath, one.keys.knowledge, { method: 'PATCH', json: { content: 'new' } }),
      sendRequest(base, '/admin/purge', admin, { method: 'POST', json: purge }),
      sendRequest(base, page, one.keys.app),
      sendRequest(base, '/admin/records?kinds=message', admin),
      sendRequest(base, `/admin/records?kinds=message&app_id=${one.ids.app}`, admin),
      sendRequest(base, one.chunkPath, one.keys.knowledge),
    ];
    for (let times = 0; times < 3; times += 1) {
      for (const response of await Promise.all(requests())) {
        assert.deepEqual(response.body, {
          status: 503,
          code: 'service_unavailable',
          message: 'the database is damaged',
        });
        assert.match(response.headers.get('retry-after') ?? '', /^\d+$/);
      }
    }
    // Whichever worker responds.
    for (let times = 0; times < 6; times += 1) {
      const ready = await fetch(`${base}/health/ready`, { headers: { connection: 'close' } });
      assert.equal(ready.status, 503);
      assert.equal((await fetch(`${base}/health/live`)).status, 200);
    }
    const { text } = await sendRequest(base, '/metrics', admin);
    assert.match(text, /^backscroll_database_unavailable_total\{cause="damaged",node=""\} \d+$/m);
    const errors = output()
      .split('\n')
      .filter((line) => line.includes('"level":50'));
    assert.equal(errors.length, 1, errors.join('\n'));
    assert.match(errors[0] ?? '', /"cause":"the file has damaged pages: .* restore .*"/);
  });

  it('the indexer of the search tries again after a second, not in each check of the database', async (t) => {
    const cwd = await newFolder(t);
    assert.equal((await run(['import', '-'], { cwd, stdin: ndjson(makeTwoTenants().records) })).code, 0);
    damage(join(cwd, 'data', 'backscroll.db'), ['search_state']);
    const { output } = await serve(t, { cwd, env: { LOG_LEVEL: 'debug', LOG_FORMAT: 'json' } });
    const times = () =>
      output()
        .split('\n')
        .filter((line) => line.includes('cannot index now'))
        .map((line) => Date.parse(JSON.parse(line).time));
    await until(() => times().length >= 3);
    const [first = 0, second = 0, third = 0] = times();
    // A pause may be longer on a busy machine, and is never shorter.
    assert.ok(second - first >= 900 && third - second >= 900, `${times()}`);
  });
});
