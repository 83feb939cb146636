import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { it } from 'node:test';
import { execute } from '../../../experiments/support/schema-databases.ts';
import { lockWaits } from '../citus/cluster.ts';
import { call, filesContaining, newFolder, type Scope, serve } from '../support/cli-helpers.ts';
import { onDatabase } from '../support/faulty-postgres.ts';
import {
  type Engine,
  exportedChunks,
  itOnOneEngine,
  makeTwoTenants,
  message,
  newDatabaseWith,
  onEveryEngine,
  startService,
} from '../support/harness.ts';
import { until } from '../support/until.ts';
import { indexDifferences } from './index-differences.ts';

/** Runs statements that damage the index, as no program should. */
const damage = (engine: Engine, url: string, statements: Record<Engine, readonly string[]>) =>
  execute(
    { engine, url, remove: async () => undefined },
    statements[engine].map((text) => ({ text })),
  );

async function indexedDatabase(t: Scope, engine: Engine) {
  const cwd = await newFolder(t);
  const { one, admin, records } = makeTwoTenants();
  const sent = ['osprey', 'grebe', 'heron'].map((query, at) => message(one.ids.conversation, at + 1, { query }));
  const { url, remove } = await newDatabaseWith(engine, [...records, ...sent]);
  t.after(remove);
  const env = { DATABASE_URL: url };
  const reindex = (...options: string[]) => call(['reindex', ...options], { cwd, env });
  return { cwd, env, url, one, admin, sent, reindex };
}

onEveryEngine('reindex', (engine) => {
  it('builds the right index again, whatever was damaged, and removes what is no part of it', async (t) => {
    const { url, one, sent, reindex } = await indexedDatabase(t, engine);
    const { stdout: indexed } = await reindex();
    const [, records] = /^indexed (\d+) records in [\d.]+ s\n$/.exec(indexed) ?? [];
    const [first, second, third] = sent.map(({ id }) => id);
    const position = (id: string | undefined) => `(SELECT position FROM search_messages WHERE id = '${id}')`;
    await damage(engine, url, {
      sqlite: [
        `INSERT INTO search_message_tokens (search_message_tokens, rowid, tokens) VALUES ('delete', ${position(first)}, 'osprey')`,
        `INSERT INTO search_message_tokens (rowid, tokens) VALUES (${position(second)}, 'zyxerased')`,
        `INSERT INTO search_message_tokens (rowid, tokens) VALUES (4711, 'zyxstray')`,
        `DELETE FROM search_messages WHERE id = '${third}'`,
        `DELETE FROM search_chunk_tokens
          WHERE rowid = (SELECT position FROM search_chunks WHERE id = '${one.ids.chunk}')`,
        `UPDATE search_chunks SET id = 'none' WHERE id = '${one.ids.segment}'`,
      ],
      postgres: [
        `UPDATE search_messages SET tokens = ts_delete(tokens, 'osprey') WHERE id = '${first}'`,
        `UPDATE search_messages SET tokens = tokens || array_to_tsvector('{zyxerased}') WHERE id = '${second}'`,
        `DELETE FROM search_messages WHERE id = '${third}'`,
        `UPDATE search_chunks SET tokens = NULL WHERE id = '${one.ids.chunk}'`,
        `UPDATE search_chunks SET id = 'none' WHERE id = '${one.ids.segment}'`,
      ],
    });
    const differences = await indexDifferences(engine, url, reindex);
    const ofRecord = (record: string) =>
      differences.filter((row) => row.slice(2).startsWith(record)).map((row) => row[0]);
    const [conversation, { dataset, segment, chunk }] = [one.ids.conversation, one.ids];
    for (const [record, changes] of [
      [`message ${conversation} ${first}`, ['-', '+']],
      [`message ${conversation} ${second}`, ['-', '+']],
      [`message ${conversation} ${third}`, ['+']],
      // The words of the third message, and the one at a position that no message ever had.
      ['message none', engine === 'sqlite' ? ['-', '-'] : []],
      [`segment ${dataset} none`, ['-']],
      [`segment ${dataset} ${segment}`, ['+']],
      [`child_chunk ${dataset} ${chunk}`, ['-', '+']],
    ] as const)
      assert.deepEqual(ofRecord(record), changes, `${record}: ${differences.join('\n')}`);
    assert.deepEqual(await indexDifferences(engine, url, reindex), []);
    assert.equal((await reindex()).stdout.split(' ')[1], records);
    if (engine === 'sqlite') {
      for (const word of ['zyxerased', 'zyxstray']) {
        assert.deepEqual(filesContaining(url.replace('sqlite:', ''), word), [], word);
      }
    }
  });

  itOnOneEngine(engine, 'beside a service: counts the records that the service indexes', async (t) => {
    const { cwd, env, url, reindex } = await indexedDatabase(t, engine);
    const service = await serve(t, { cwd, env });
    const indexed = await reindex();
    assert.match(indexed.stdout, /^indexed [1-9]\d* records in/);
    if (engine === 'sqlite') {
      await damage(engine, url, {
        sqlite: [`INSERT INTO search_message_tokens (rowid, tokens) VALUES (4711, 'zyxstray')`],
        postgres: [],
      });
      assert.equal((await reindex()).code, 0);
      // The service removes what is left in the log.
      await until(async () => filesContaining(url.replace('sqlite:', ''), 'zyxstray').length === 0);
    }
    await service.end('SIGTERM');
  });

  if (engine === 'postgres')
    it('continues after the database, or a node of it, was not available', async (t) => {
      const { cwd, env, url } = await indexedDatabase(t, engine);
      await onDatabase(url, async (holder) => {
        await holder.query('BEGIN');
        await holder.query('UPDATE search_state SET rules = rules');
        let isDone = false;
        const reindexed = call(['reindex'], { cwd, env: { ...env, DATABASE_TIMEOUT: '1000' } }).finally(() => {
          isDone = true;
        });
        const isWaiting = async () => (await onDatabase(url, (client) => client.query(lockWaits))).rows.length > 0;
        await until(isWaiting);
        await until(async () => !(await isWaiting()));
        await until(async () => isDone || (await isWaiting()));
        await holder.query('ROLLBACK');
        const { code, stdout, stderr } = await reindexed;
        assert.deepEqual([code, stderr], [0, '']);
        assert.match(stdout, /^indexed [1-9]/);
      });
    });

  if (engine === 'sqlite')
    it('does not wait for a reader of the file: the log is emptied after it', async (t) => {
      const { one, records } = makeTwoTenants();
      const service = await startService(engine);
      t.after(() => service.close());
      await service.load([...records, message(one.ids.conversation, 1)]);
      await service.index();
      const slowReader = exportedChunks(service.store)[Symbol.asyncIterator]();
      await slowReader.next();
      await service.store.search.reset('the rules of another version');
      assert.equal(await service.store.search.count(), 0);
      await service.load([message(one.ids.conversation, 2)]);
      assert.equal(await service.store.erasure.emptyLog(), false);
      await slowReader.return?.(undefined);
      assert.equal(await service.store.erasure.emptyLog(), true);
    });

  it('is not needed after many chunks were edited, added and deleted in any order', async (t) => {
    const { one, admin, records } = makeTwoTenants();
    const service = await startService(engine);
    t.after(() => service.close());
    const chunkIds = Array.from({ length: 260 }, () => randomUUID());
    const numbers = [...chunkIds.keys()];
    const chunk = (at: number, content: string, deleted = false) => ({
      ...{ record: 'child_chunk', id: chunkIds[at], segment_id: one.ids.segment, position: at, content, deleted },
    });
    await service.load([...records, ...numbers.slice(0, 230).map((at) => chunk(at, `petrel number${at}`))]);
    await service.index();
    const edited = numbers.toReversed().filter((at) => at % 3 !== 0);
    await service.load(edited.map((at) => chunk(at, `fulmar number${at}`, at % 5 === 0)));
    await service.index();
    const rebuild = async () => {
      await service.store.search.reset('other rules');
      await service.index();
    };
    assert.deepEqual(await indexDifferences(engine, service.config.database_url, rebuild), []);
    const hits = async (q: string) => {
      const path = `/admin/search?${new URLSearchParams({ in: 'knowledge', limit: '100', q })}`;
      return (await service.as(admin).get(path)).body.data.length;
    };
    const isNow = (at: number) => at % 5 !== 0 && `${at}`.startsWith('7');
    assert.equal(await hits('petrel'), numbers.slice(0, 230).filter((at) => at % 3 === 0).length);
    assert.equal(await hits('fulmar number7'), edited.filter(isNow).length);
  });
});
