import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { describe, it, type TestContext } from 'node:test';
import { readConfig } from '../../src/config.ts';
import { databaseOf } from '../../src/store/open.ts';
import { distributionSteps } from '../../src/store/postgres/citus/distribute.ts';
import { leaseTable } from '../../src/store/postgres/statements.ts';
import { distribution, latestVersion, postgresMigrations } from '../../src/store/schema/schema.ts';
import { newDatabase, revertTo } from '../experiments/support/schema-databases.ts';
import { command, newFolder, oneLine, run } from '../support/cli-helpers.ts';
import { chunkPath, makeTwoTenants, message, newDatabaseUrl, startService } from '../support/harness.ts';
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
    const page = await service.request('GET', path, { key: one.keys.app });
    assert.deepEqual([page.status, page.body.data.length, page.body.has_more], [200, 1, true]);
    const older = await service.request('GET', `${path}&first_id=${page.body.data[0].id}`, { key: one.keys.app });
    assert.deepEqual([older.status, older.body.data.length, older.body.has_more], [200, 1, false]);
    const edit = { key: one.keys.knowledge, body: { content: randomUUID() } };
    const edited = await service.request('PATCH', chunkPath(one.ids), edit);
    assert.deepEqual([edited.status, edited.body.data.content], [200, edit.body.content]);
    const key = { kind: 'admin', name: 'another' };
    assert.equal((await service.request('POST', '/admin/keys', { key: admin, body: key })).status, 201);
    const lines = `${JSON.stringify(message(one.ids.conversation, 3))}\n`;
    const headers = { 'content-type': 'application/x-ndjson' };
    const appended = await service.request('POST', '/admin/records', { key: one.keys.writer, headers, body: lines });
    assert.deepEqual([appended.status, appended.body], [200, { records: 1 }]);
    const exported = await service.request('GET', '/admin/records', { key: admin });
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
    await databaseOf(readConfig({ DATABASE_URL: url })).migrate(1);
    for (const node of [...(await workerUrls(url)), url]) await assertServes(node);
  });

  it('imports at the same time as other nodes', async (t) => {
    const url = await newUrl(t);
    await databaseOf(readConfig({ DATABASE_URL: url })).migrate(1);
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

describe('upgrading a distributed database', () => {
  /** A database of schema 4, as an older program has created and distributed it. */
  async function createSchema4(url: string): Promise<void> {
    await onNode(url, async (client) => {
      await client.query(leaseTable);
      await client.query(
        'CREATE TABLE schema_migrations (version BIGINT NOT NULL PRIMARY KEY, name TEXT COLLATE "C" NOT NULL, applied_at BIGINT NOT NULL)',
      );
      for (const { version, name, statements } of postgresMigrations.slice(0, 4)) {
        for (const statement of statements) await client.query(statement);
        await client.query('INSERT INTO schema_migrations VALUES ($1, $2, 1)', [version, name]);
      }
      const { rows } = await client.query(`SELECT tablename FROM pg_tables WHERE schemaname = 'public'`);
      const steps = distributionSteps(new Map(rows.map(({ tablename }) => [tablename, 'local'])));
      for (const [text] of steps) await client.query(text ?? '');
    });
  }

  it('fills the new columns on every shard, and serves the lists', async (t) => {
    const url = await newUrl(t);
    await createSchema4(url);
    const { one, records, admin } = makeTwoTenants();
    const { workspace, app } = one.ids;
    const chats = Array.from({ length: 60 }, (_, at) => ({ id: randomUUID(), at }));
    const datasets = Array.from({ length: 8 }, () => randomUUID());
    const documents = datasets.flatMap((dataset_id) => [0, 1].map(() => ({ dataset_id, id: randomUUID() })));
    await onNode(url, async (client) => {
      await client.query('INSERT INTO workspaces VALUES ($1, $2)', [workspace, 'workspace']);
      await client.query('INSERT INTO apps VALUES ($1, $2, $3, $4)', [app, workspace, 'app', 'chat']);
      await client.query(
        `INSERT INTO api_keys (id, kind, workspace_id, app_id, name, digest, created_at) VALUES ($1, 'app', $2, $3, 'old', 'd', 1)`,
        [randomUUID(), workspace, app],
      );
      for (const { id, at } of chats) {
        await client.query(
          `INSERT INTO conversations (conversation_id, app_id, "user", created_at, deleted, version, next_sequence, last_message_at)
           VALUES ($1, $2, 'ann', $3, 0, 'v', 3, $4)`,
          [id, app, at, at % 3 === 0 ? 0 : 1_000 + at],
        );
        if (at % 3 === 0) continue;
        for (const sequence of [2, 1])
          await client.query(
            'INSERT INTO messages (conversation_id, created_at, sequence, id, doc) VALUES ($1, $2, $3, $4, $5)',
            [
              id,
              1_000 + at,
              sequence,
              randomUUID(),
              JSON.stringify({ query: `question ${sequence} of ${at}, a long one`, inputs: { sequence } }),
            ],
          );
      }
      for (const id of datasets) await client.query('INSERT INTO datasets VALUES ($1, $2, $3)', [id, workspace, 'old']);
      for (const { dataset_id, id } of documents) {
        await client.query('INSERT INTO documents VALUES ($1, $2, $3)', [dataset_id, id, 'old']);
        await client.query(
          `INSERT INTO segments SELECT $1, md5($2 || i)::uuid::text, $2, i, 'three words here' FROM generate_series(1, 10) AS s (i)`,
          [dataset_id, id],
        );
      }
    });

    const cwd = await newFolder(t);
    const { code, stderr } = await run(['migrate'], { cwd, env: { DATABASE_URL: url } });
    assert.deepEqual([code, stderr], [0, '']);
    const status = await run(['migrate', '--status'], { cwd, env: { DATABASE_URL: url } });
    assert.match(status.stdout, new RegExp(`${latestVersion}`));
    assert.equal((await distributedTables(url)).length, tableCount);

    const service = await startService('postgres', {}, url);
    try {
      const { body: keys } = await service
        .load(records)
        .then(() => service.request('GET', '/admin/keys', { key: admin }));
      assert.equal(keys.data.find(({ name }: { name: string }) => name === 'old').read_only, true);
      const list = await service.request('GET', '/v1/conversations?limit=100&user=ann', { key: one.keys.app });
      const expected = chats
        .map(({ id, at }) =>
          at % 3 === 0
            ? { id, name: 'New conversation', inputs: {}, created_at: at, updated_at: at }
            : {
                id,
                name: `question 1 of ${at}, a long one`.slice(0, 20).concat('…'),
                inputs: { sequence: 1 },
                created_at: at,
                updated_at: 1_000 + at,
              },
        )
        .sort((older, newer) => newer.updated_at - older.updated_at);
      // The tenant of the harness has one conversation more, created at 1000.
      assert.deepEqual(
        list.body.data
          .filter(({ id }: { id: string }) => id !== one.ids.conversation)
          .map(({ status: _, introduction: __, ...item }: Record<string, unknown>) => item),
        expected,
      );
      for (const id of datasets) {
        const read = (path: string) => service.request('GET', `/v1/datasets/${id}${path}`, { key: one.keys.knowledge });
        const { body } = await read('');
        assert.deepEqual([body.document_count, body.word_count], [2, 60]);
        const numbered = (await read('/documents')).body.data.map(
          ({ id, position }: { id: string; position: number }) => [id, position],
        );
        const sorted = documents
          .filter(({ dataset_id }) => dataset_id === id)
          .map((document) => document.id)
          .sort();
        assert.deepEqual(numbered, sorted.map((document, at) => [document, at + 1]).toReversed());
        const { body: segments } = await read(`/documents/${sorted[0]}/segments`);
        assert.equal(segments.total, 10);
        assert.deepEqual(
          new Set(segments.data.map(({ word_count }: { word_count: number }) => word_count)),
          new Set([3]),
        );
      }
      await assertServes(url);
    } finally {
      await service.close();
    }
  });

  it('has the same data after the upgrade from every older schema', async (t) => {
    const database = await newDatabase('postgres');
    t.after(database.remove);
    const { one, admin, records } = makeTwoTenants();
    const { app } = one.ids;
    const chats = Array.from({ length: 12 }, () => randomUUID());
    const datasets = Array.from({ length: 6 }, () => randomUUID());
    const children = datasets.map((dataset_id) => {
      const [document_id, segment_id, id] = [randomUUID(), randomUUID(), randomUUID()];
      return { dataset_id, document_id, segment_id, id };
    });
    const untimed = ['dataset', 'document', 'segment'];
    const loaded = [
      // Before schema 5 every app key was read-only, and before schema 6 nothing had a time.
      ...records.map((record) => ('kind' in record && record.kind === 'app' ? { ...record, read_only: true } : record)),
      ...chats.flatMap((id, at) => [
        { record: 'conversation', id, app_id: app, user: 'ann', created_at: at },
        message(id, 86_400 * at, { feedback: { rating: 'like' }, total_price: '0.1', currency: 'USD' }),
        message(id, 86_400 * at + 1, { feedback: { rating: 'dislike' }, message_tokens: at }),
        message(id, 86_400 * at + 2, { status: 'error', total_price: '0.2', currency: 'USD' }),
      ]),
      ...children.flatMap(({ dataset_id, document_id, segment_id, id }, at) => [
        { record: 'dataset', id: dataset_id, workspace_id: one.ids.workspace, name: 'dataset' },
        { record: 'document', id: document_id, dataset_id, name: 'document' },
        { record: 'segment', id: segment_id, document_id, position: 1, content: 'three words here' },
        { record: 'child_chunk', id, segment_id, position: 1, content: 'old', created_at: at },
      ]),
    ].map((record) =>
      'record' in record && untimed.includes(`${record.record}`) ? { ...record, created_at: 0, updated_at: 0 } : record,
    );
    const chunkPaths = children.map(({ dataset_id, document_id, segment_id, id }) =>
      chunkPath({ dataset: dataset_id, document: document_id, segment: segment_id, chunk: id }),
    );
    /** Responses of the current program; `audit` is lost in schema 1. */
    const readAll = async () => {
      const service = await startService('postgres', {}, database.url);
      try {
        if ((await service.store.isEmpty()) === true) {
          await service.load(loaded);
          for (const path of chunkPaths) {
            const edit = { key: one.keys.knowledge, body: { content: 'new' } };
            assert.equal((await service.request('PATCH', path, edit)).status, 200);
          }
        }
        const read = async (path: string, key: string) => {
          const { status, text } = await service.request('GET', path, { key });
          assert.equal(status, 200, text);
          return text;
        };
        return {
          records: await read('/admin/records', admin),
          overview: await read('/admin/overview?from=0&to=8640000', admin),
          conversations: await read('/admin/conversations?limit=100', admin),
          list: await read('/v1/conversations?limit=100&user=ann', one.keys.app),
          datasets: await Promise.all(datasets.map((id) => read(`/v1/datasets/${id}`, one.keys.knowledge))),
          documents: await Promise.all(datasets.map((id) => read(`/v1/datasets/${id}/documents`, one.keys.knowledge))),
          audit: await Promise.all(datasets.map((id) => read(`/admin/activity?dataset_id=${id}`, admin))),
        };
      } finally {
        await service.close();
      }
    };
    const stored = await readAll();
    for (const entries of stored.audit) assert.match(entries, /"action":"update"/);
    for (let version = latestVersion - 1; version > 0; version -= 1) {
      await revertTo(database, version);
      await databaseOf(readConfig({ DATABASE_URL: database.url })).migrate(1);
      const { audit, ...upgraded } = await readAll();
      assert.deepEqual({ ...upgraded, audit: version === 1 ? stored.audit : audit }, stored, `from schema ${version}`);
      assert.equal((await distributedTables(database.url)).length, tableCount);
    }
  });
});
