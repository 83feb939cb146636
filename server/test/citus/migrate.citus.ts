import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { describe, it, type TestContext } from 'node:test';
import { killMigrations } from '../../../experiments/upgrade.ts';
import { distribution } from '../../src/store/base/distribution.ts';
import { command, newFolder, oneLine, run } from '../support/cli-helpers.ts';
import { chunkPath, databaseAt, makeTwoTenants, message, newDatabaseUrl, startService } from '../support/harness.ts';
import { until } from '../support/until.ts';
import { createPlainDatabase, dropDatabase, installCitus, onEveryNode, onNode, urlOf, workerUrls } from './cluster.ts';

const tableCount =
  distribution.control.length +
  distribution.reference.length +
  Object.keys(distribution.distributed).length +
  distribution.single.length;

async function newUrl(t: TestContext): Promise<string> {
  const { url, remove } = await newDatabaseUrl('postgres');
  t.after(remove);
  return url;
}

const distributedTables = (url: string): Promise<string[]> =>
  onNode(url, async (client) =>
    (await client.query('SELECT logicalrelid::text AS name FROM pg_dist_partition')).rows.map(({ name }) => name),
  );

/** Every operation on a database, through a service. */
async function assertServes(url: string): Promise<void> {
  const service = await startService('postgres', {}, url);
  try {
    const { one, records, admin } = makeTwoTenants();
    await service.load([...records, message(one.ids.conversation, 1), message(one.ids.conversation, 2)]);
    const path = `/v1/messages?conversation_id=${one.ids.conversation}&limit=1`;
    const page = await service.as(one.keys.app).get(path);
    assert.deepEqual([page.status, page.body.data.length, page.body.has_more], [200, 1, true]);
    const older = await service.as(one.keys.app).get(`${path}&first_id=${page.body.data[0].id}`);
    assert.deepEqual([older.status, older.body.data.length, older.body.has_more], [200, 1, false]);
    const edit = { key: one.keys.knowledge, body: { content: randomUUID() } };
    const edited = await service.request('PATCH', chunkPath(one.ids), edit);
    assert.deepEqual([edited.status, edited.body.data.content], [200, edit.body.content]);
    const key = { kind: 'admin', name: 'another' };
    assert.equal((await service.as(admin).post('/admin/keys', key)).status, 201);
    const lines = `${JSON.stringify(message(one.ids.conversation, 3))}\n`;
    const headers = { 'content-type': 'application/x-ndjson' };
    const appended = await service.as(one.keys.writer).post('/admin/records', lines, headers);
    assert.deepEqual([appended.status, appended.body], [200, { records: 1 }]);
    const exported = await service.as(admin).get('/admin/records');
    assert.ok(exported.text.includes(edit.body.content));
    assert.equal((await service.request('GET', '/health/ready')).status, 200);
  } finally {
    await service.close();
  }
}

describe('a migration that is killed', { concurrency: true }, () => {
  for (const tables of [0, 1, 6, 12, 16])
    it(`after ${tables} of ${tableCount} tables is completed by the next start`, async (t) => {
      const url = await newUrl(t);
      const cwd = await newFolder(t);
      const { PATH } = process.env;
      const child = spawn(command, ['migrate', '--citus'], { cwd, env: { PATH, DATABASE_URL: url } });
      const exited = once(child, 'exit');
      const leaseExists = `SELECT to_regclass('leases') IS NOT NULL AS "exists"`;
      await onNode(url, (client) =>
        until(async () => {
          const { rows } = await client.query('SELECT COUNT(*)::int AS n FROM pg_dist_partition');
          return rows[0].n >= tables && (await client.query(leaseExists)).rows[0].exists;
        }),
      );
      child.kill('SIGKILL');
      await exited;
      const before = (await distributedTables(url)).length;
      t.diagnostic(`${before} tables were distributed`);
      await assertServes(url);
      assert.equal((await distributedTables(url)).length, tableCount);
    });
});

describe('a worker node', () => {
  it('is rejected before the coordinator has migrated, and stays empty', async (t) => {
    const url = await newUrl(t);
    const cwd = await newFolder(t);
    for (const worker of await workerUrls(url)) {
      for (const args of [['serve'], ['migrate'], ['migrate', '--citus'], ['keys', 'list']]) {
        const { code, stderr } = await run(args, { cwd, env: { DATABASE_URL: worker, PORT: '0' } });
        assert.equal(code, 1, args.join());
        assert.match(stderr, oneLine);
        assert.match(stderr, /worker node of a Citus cluster/);
      }
      const { rows } = await onNode(worker, (client) =>
        client.query(`SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace`),
      );
      assert.deepEqual(rows, []);
    }
  });

  it('serves every operation when the coordinator has migrated, and sees its data', async (t) => {
    const url = await newUrl(t);
    await databaseAt(url).migrate(1);
    for (const node of [...(await workerUrls(url)), url]) await assertServes(node);
  });

  it('imports at the same time as other nodes', async (t) => {
    const url = await newUrl(t);
    await databaseAt(url).migrate(1);
    const services = await Promise.all(
      [url, ...(await workerUrls(url))].map((node) => startService('postgres', {}, node)),
    );
    try {
      const { records } = makeTwoTenants();
      for (let round = 0; round < 3; round += 1)
        await Promise.all(services.map((service) => service.load([...records, ...makeTwoTenants().records])));
      const counts = await Promise.all(services.map(async ({ store }) => (await store.listKeys()).length));
      assert.deepEqual(new Set(counts), new Set([9 + 9 * 3 * services.length]));
    } finally {
      for (const service of services) await service.close();
    }
  });
});

describe('distributing a database with data', () => {
  /** The files of relations, on any node, that contain a text. */
  const filesWith = async (database: string, text: string): Promise<string[]> => {
    const found = await onEveryNode(database, async (client, { port, isCoordinator }) => {
      await client.query('CHECKPOINT');
      // Citus hides the tables of shards.
      await client.query('SET citus.override_table_visibility = off');
      const { rows } = await client.query(
        `SELECT relname FROM pg_class WHERE relkind IN ('r', 't', 'i') AND pg_relation_filenode(oid) IS NOT NULL
           AND position(convert_to($1, 'UTF8') in pg_read_binary_file(pg_relation_filepath(oid), 0, 100000000, true)) > 0`,
        [text],
      );
      return rows.map(({ relname }) => `${isCoordinator ? 'coordinator' : port} ${relname}`);
    });
    return found.flat();
  };

  it('leaves no row in the files of the coordinator, and an erased text in no file of any node', async (t) => {
    const database = `test_${randomUUID().replaceAll('-', '')}`;
    const url = urlOf(database);
    await createPlainDatabase(database);
    t.after(() => dropDatabase(database));
    const cwd = await newFolder(t);
    const { one, records } = makeTwoTenants();
    const [erasedText, otherText] = [`erased-${randomUUID()}`, `kept-${randomUUID()}`];
    const service = await startService('postgres', {}, url);
    await service.load([
      ...records,
      ...Array.from({ length: 50 }, (_, at) => message(one.ids.conversation, at, { answer: erasedText })),
      { record: 'child_chunk', id: one.ids.chunk, segment_id: one.ids.segment, position: 1, content: otherText },
    ]);
    await service.close();
    assert.ok((await filesWith(database, erasedText)).includes('coordinator messages'));
    await installCitus(database);
    const { code, stderr } = await run(['migrate', '--citus'], { cwd, env: { DATABASE_URL: url } });
    assert.deepEqual([code, stderr], [0, '']);
    const onCoordinator = async (text: string) =>
      (await filesWith(database, text)).filter((file) => file.startsWith('coordinator'));
    assert.deepEqual(await onCoordinator(erasedText), []);
    assert.deepEqual(await onCoordinator(otherText), []);
    assert.equal((await filesWith(database, otherText)).length, 1);

    const purge = ['purge', '--conversation', one.ids.conversation, '--yes'];
    assert.equal(
      (await run(purge, { cwd, env: { DATABASE_URL: url } })).stdout,
      'erased 1 conversation with 50 messages\n',
    );
    // VACUUM keeps rows that a transaction which is still open may read, such as one of the extension's daemon.
    await until(async () => {
      await onNode(url, (client) => client.query('VACUUM FULL messages'));
      return (await filesWith(database, erasedText)).length === 0;
    });
    assert.equal((await filesWith(database, otherText)).length, 1);
  });
});

it('a step is applied completely or not at all, wherever it is killed, and the next start completes it', async (t) => {
  const options = { points: 20, rounds: 0, migrators: 3, waits: 1, messages: 50 };
  for (const { promise, measured, holds } of await killMigrations('postgres', options)) {
    t.diagnostic(`${promise}: ${measured}`);
    assert.ok(holds, `${promise}: ${measured}`);
  }
});
