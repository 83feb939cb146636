import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { constants, DatabaseSync, StatementSync } from 'node:sqlite';
import { after, before, describe, it } from 'node:test';
import { MessageChannel, Worker } from 'node:worker_threads';
import pg from 'pg';
import { makeSecret } from '../../src/domain/secret.ts';
import { newVersion } from '../../src/domain/version.ts';
import * as audit from '../../src/store/accounting/audit.ts';
import { selectByKey } from '../../src/store/base/sized.ts';
import * as erasure from '../../src/store/erasure/statements.ts';
import { setLastUse, setRevoked } from '../../src/store/keys/writes.ts';
import { findLastRevision, replaceChunk } from '../../src/store/knowledge/chunk-writes.ts';
import { findChunkPath } from '../../src/store/knowledge/path.ts';
import * as appStatements from '../../src/store/messages/statements.ts';
import { pageStatement } from '../../src/store/postgres/server/statements.ts';
import * as messages from '../../src/store/sqlite/messages.ts';
import * as embedded from '../../src/store/sqlite/statements.ts';
import { groupStates } from '../../src/store/sqlite/writer-link.ts';
import * as sql from '../../src/store/statements.ts';
import { exportSteps } from '../../src/store/tables/export.ts';
import { lookupStatement } from '../../src/store/tables/lookups.ts';
import * as recordStatements from '../../src/store/tables/statements.ts';
import {
  makeTwoTenants,
  message,
  newMigratedUrl,
  type RequestOptions,
  type Service,
  startService,
  type TestResponse,
} from '../support/harness.ts';
import {
  describePlan,
  explain,
  isWasteful,
  numberParameters,
  openPostgres,
  openSqlite,
  type Plan,
  planOf,
  rowsRead,
  stepsOf,
} from '../support/plans.ts';
import { type RecordingProxy, startProxy, summarize, type Traffic } from './recording-proxy.ts';

const findKeyStatement = 'SELECT api_keys apps';
const findChunkStatement = 'SELECT datasets documents segments child_chunks';
const models = '/v1/workspaces/current/models/model-types/llm';

for (const prepared of ['on', 'off'])
  describe(`statements sent to PostgreSQL, DATABASE_PREPARED=${prepared}`, () => {
    let proxy: RecordingProxy;
    let service: Service;
    let remove: () => Promise<void>;
    const { one, other, admin, records } = makeTwoTenants();
    const first = message(one.ids.conversation, 1);
    const second = message(one.ids.conversation, 2);
    const page = `/v1/messages?conversation_id=${one.ids.conversation}`;

    before(async () => {
      const database = await newMigratedUrl('postgres');
      remove = database.remove;
      proxy = await startProxy(database.url);
      service = await startService('postgres', { DATABASE_PREPARED: prepared, AUDIT_READS: 'off' }, proxy.url);
      await service.load([...records, first, second]);
    });
    after(async () => {
      await service?.close();
      await proxy?.close();
      await remove?.();
    });

    type Observed = Traffic & { response: TestResponse };
    async function request(method: string, path: string, options: RequestOptions): Promise<Observed> {
      proxy.traffic.statements.length = 0;
      proxy.traffic.roundTrips = 0;
      const response = await service.request(method, path, options);
      return { response, statements: [...proxy.traffic.statements], roundTrips: proxy.traffic.roundTrips };
    }
    /** A key stays in the cache at least so long. */
    const keyMillis = 4_000;
    let clearedAt = performance.now();
    const clearKeyCache = async () => {
      await service.load([{ record: 'api_key', kind: 'admin', name: 'another', secret: makeSecret('admin') }]);
      clearedAt = performance.now();
    };
    /** Sends a request after another one has put its key into the cache, long before it leaves the cache. */
    async function requestWithCachedKey(method: string, path: string, options: RequestOptions): Promise<Observed> {
      if (performance.now() - clearedAt > keyMillis / 2) await clearKeyCache();
      await service.request('GET', models, { key: options.key });
      const observed = await request(method, path, options);
      if (performance.now() - clearedAt < keyMillis) return observed;
      // On a busy machine, the key may have left the cache.
      const statements = observed.statements.filter(({ text }) => summarize(text) !== findKeyStatement);
      const lookups = observed.statements.length - statements.length;
      return { ...observed, statements, roundTrips: observed.roundTrips - lookups };
    }
    function assertOneStatement({ response, statements, roundTrips }: Observed, status: number, what: string): void {
      assert.equal(response.status, status);
      assert.deepEqual(
        statements.map(({ text }) => summarize(text)),
        [what],
      );
      assert.equal(roundTrips, 1);
    }

    it('are recorded by the test with their text and round trips', async () => {
      proxy.traffic.statements.length = 0;
      proxy.traffic.roundTrips = 0;
      const client = new pg.Client(proxy.url);
      await client.connect();
      await client.query('SELECT 1');
      await client.query('SELECT $1::text', ['x']);
      await client.end();
      assert.deepEqual(
        proxy.traffic.statements.map(({ text }) => text),
        ['SELECT 1', 'SELECT $1::text'],
      );
      assert.equal(proxy.traffic.roundTrips, 2);
    });

    const key = one.keys.app;
    it('are one for GET /messages', async () => {
      const observed = await requestWithCachedKey('GET', page, { key });
      assertOneStatement(observed, 200, 'SELECT conversations messages');
      assert.equal(observed.response.body.data.length, 2);
      assertOneStatement(
        await requestWithCachedKey('GET', `${page}&user=ann`, { key }),
        200,
        'SELECT conversations messages',
      );
    });

    it('are one for GET /messages with first_id', async () => {
      const observed = await requestWithCachedKey('GET', `${page}&first_id=${second.id}`, { key });
      assertOneStatement(observed, 200, 'SELECT conversations messages');
      assert.deepEqual(
        observed.response.body.data.map(({ id }: { id: string }) => id),
        [first.id],
      );
      assertOneStatement(
        await requestWithCachedKey('GET', `${page}&user=ann&first_id=${second.id}`, { key }),
        200,
        'SELECT conversations messages',
      );
    });

    it('are two without a distribution column for a search, and one for its texts', async () => {
      await service.index();
      await service.request('GET', '/admin/search?q=nothing', { key: admin });
      const { response, statements } = await requestWithCachedKey('GET', '/admin/search?q=q', { key: admin });
      assert.equal(response.body.data.length, 2);
      assert.deepEqual(
        statements.map(({ text }) => [summarize(text), /_id = ANY/.test(text)]),
        [
          ['SELECT search_messages', false],
          ['SELECT search_messages', false],
          ['SELECT messages conversations', true],
        ],
      );
    });

    it('are one for GET /messages of a missing conversation or message', async () => {
      const missing = one.ids.chunk;
      for (const path of [`/v1/messages?conversation_id=${missing}`, `${page}&first_id=${missing}`, `${page}&user=bob`])
        assertOneStatement(await requestWithCachedKey('GET', path, { key }), 404, 'SELECT conversations messages');
    });

    it('are one for GET /messages with a 304 response', async () => {
      const etag = (await service.request('GET', page, { key })).headers.etag ?? '';
      const conditional = { key, headers: { 'if-none-match': etag } };
      assertOneStatement(await requestWithCachedKey('GET', page, conditional), 304, 'SELECT conversations messages');
      const older = `${page}&first_id=${second.id}`;
      const olderTag = (await service.request('GET', older, { key })).headers.etag ?? '';
      const headers = { 'if-none-match': olderTag };
      assertOneStatement(
        await requestWithCachedKey('GET', older, { key, headers }),
        304,
        'SELECT conversations messages',
      );
    });

    it('are one for GET /messages with an If-None-Match that does not match', async () => {
      const etag = (await service.request('GET', page, { key })).headers.etag ?? '';
      const outdated = etag.replace(/"[^.]*/, '"AAAAAAAAAAAAAAAAAAAAAA');
      for (const path of [page, `${page}&first_id=${second.id}`]) {
        for (const tag of ['"other"', outdated]) {
          const observed = await requestWithCachedKey('GET', path, { key, headers: { 'if-none-match': tag } });
          assertOneStatement(observed, 200, 'SELECT conversations messages');
          assert.equal(observed.roundTrips, 1);
        }
      }
    });

    const knowledge = one.keys.knowledge;
    const patch = (content: string, headers = {}): RequestOptions => ({ key: knowledge, headers, body: { content } });
    it('are one for a PATCH that writes nothing', async () => {
      assert.equal((await service.request('PATCH', one.chunkPath, patch('new text'))).status, 200);
      const missing = one.chunkPath.replace(one.ids.chunk, one.ids.app);
      const requests: [string, RequestOptions, number][] = [
        [one.chunkPath, patch('new text'), 200],
        [one.chunkPath, patch('other text', { 'if-match': '"other"' }), 412],
        [other.chunkPath, patch('new text'), 404],
        [missing, patch('new text'), 404],
      ];
      for (const [path, options, status] of requests)
        assertOneStatement(await requestWithCachedKey('PATCH', path, options), status, findChunkStatement);
    });

    it('are one for each row that a PATCH writes', async () => {
      const { response, statements } = await requestWithCachedKey('PATCH', one.chunkPath, patch('newer text'));
      assert.equal(response.status, 200);
      assert.deepEqual(
        statements.map(({ text }) => summarize(text)),
        [
          ...[findChunkStatement, 'BEGIN', 'UPDATE child_chunks', 'SELECT child_chunk_revisions'],
          ...['INSERT child_chunk_revisions', 'INSERT audit_entries unnest', 'INSERT change_outbox', 'COMMIT'],
        ],
      );
    });

    it('are one for GET of a chunk', async () => {
      const observed = await requestWithCachedKey('GET', one.chunkPath, { key: knowledge });
      assertOneStatement(observed, 200, findChunkStatement);
      const headers = { 'if-none-match': observed.response.headers.etag ?? '' };
      assertOneStatement(
        await requestWithCachedKey('GET', one.chunkPath, { key: knowledge, headers }),
        304,
        findChunkStatement,
      );
      assertOneStatement(
        await requestWithCachedKey('GET', other.chunkPath, { key: knowledge }),
        404,
        findChunkStatement,
      );
    });

    it('are one for GET of a row in the console', async () => {
      const { workspace, app, dataset, document, segment } = one.ids;
      const inDataset = `datasets/${dataset}`;
      const rows = {
        [`workspaces/${workspace}`]: 'SELECT workspaces',
        [`apps/${app}`]: 'SELECT apps workspaces',
        [`${inDataset}/documents/${document}/segments/${segment}`]: 'SELECT child_chunks segments',
      };
      for (const [path, what] of Object.entries(rows))
        assertOneStatement(await requestWithCachedKey('GET', `/admin/${path}`, { key: admin }), 200, what);
    });

    it('are the rows, their counts and their last changes for GET of datasets or a document in the console', async () => {
      const { dataset, document } = one.ids;
      const totals = 'SELECT audit_entries api_keys persons documents';
      const rows = {
        datasets: ['SELECT datasets workspaces', totals, 'SELECT search_citations'],
        [`datasets/${dataset}`]: ['SELECT datasets workspaces', totals],
        [`datasets/${dataset}/documents/${document}`]: [
          'SELECT documents',
          totals,
          'SELECT documents',
          'SELECT documents',
        ],
      };
      for (const [path, expected] of Object.entries(rows)) {
        const { response, statements } = await requestWithCachedKey('GET', `/admin/${path}`, { key: admin });
        assert.equal(response.status, 200);
        assert.deepEqual(statements.map(({ text }) => summarize(text)).sort(), expected.sort(), path);
      }
    });

    it('of an append lock the conversation, look up messages, write them and add to the totals; moves and new conversations differ', async () => {
      const newId = randomUUID();
      const append = async (...lines: object[]) => {
        const headers = { 'content-type': 'application/x-ndjson' };
        const body = lines.map((line) => `${JSON.stringify(line)}\n`).join('');
        const { response, statements } = await requestWithCachedKey('POST', '/admin/records', {
          key: one.keys.writer,
          headers,
          body,
        });
        assert.equal(response.status, 200, response.text);
        const steps = statements.map(({ text }) => summarize(text));
        assert.equal(steps.at(-1), 'COMMIT');
        // Only the statements of the transaction, without those of the check before it and of the audit log.
        return steps.slice(steps.indexOf('BEGIN') + 1, -1).filter((step) => step !== 'INSERT audit_entries unnest');
      };
      const [lock, find, write] = [
        'UPDATE conversations',
        'SELECT unnest messages json_to_record',
        'INSERT messages unnest',
      ];
      const [add, outbox] = ['INSERT conversation_days unnest', 'INSERT change_outbox'];
      const added = message(one.ids.conversation, 5, { message_tokens: 1 });
      assert.deepEqual(await append(added), [lock, find, write, add, outbox]);
      const erase = 'UPDATE search_messages';
      assert.deepEqual(await append({ ...added, message_tokens: 2, answer: 'b' }), [
        ...[lock, find, write, erase, add, outbox],
      ]);
      assert.deepEqual(await append({ ...added, message_tokens: 2, answer: 'c' }), [lock, find, write, erase, outbox]);
      assert.deepEqual(await append({ ...added, created_at: 6 }), [
        lock,
        find,
        write,
        erase,
        add,
        'UPDATE conversations messages',
        outbox,
      ]);
      const conversation = { record: 'conversation', id: newId, app_id: one.ids.app, user: 'ann' };
      assert.deepEqual(await append(conversation, message(newId, 5), message(newId, 6)), [
        'INSERT conversations unnest',
        ...[lock, write, add, outbox],
      ]);
    });

    it('are one for models', async () => {
      assertOneStatement(await requestWithCachedKey('GET', models, { key: knowledge }), 200, 'SELECT model_entries');
      assertOneStatement(await requestWithCachedKey('GET', models, { key }), 200, 'SELECT model_entries');
    });

    it('are none for a request that is rejected before it needs the database', async () => {
      const rejected: [string, string, RequestOptions, number][] = [
        ['GET', `${page}&limit=0`, { key }, 400],
        ['PATCH', one.chunkPath, patch(' '), 400],
        ['GET', `${models}x`, { key }, 400],
        ['GET', page, {}, 401],
      ];
      for (const [method, path, options, status] of rejected) {
        const observed = await requestWithCachedKey(method, path, { ...options });
        assert.deepEqual([observed.response.status, observed.statements], [status, []]);
      }
    });

    it('are one more when the key is not cached, and none for a key that is cached as unknown', async () => {
      const operations: [string, string, RequestOptions, string][] = [
        ['GET', page, { key }, 'SELECT conversations messages'],
        ['GET', one.chunkPath, { key: knowledge }, findChunkStatement],
        ['GET', models, { key: knowledge }, 'SELECT model_entries'],
      ];
      for (const [method, path, options, what] of operations) {
        await clearKeyCache();
        const observed = await request(method, path, options);
        assert.equal(observed.response.status, 200);
        assert.deepEqual(
          observed.statements.map(({ text }) => summarize(text)),
          [findKeyStatement, what],
        );
      }
      const unknown = { key: makeSecret('app') };
      assert.equal((await request('GET', page, unknown)).statements.length, 1);
      assert.equal((await request('GET', page, unknown)).statements.length, 0);
    });

    it('change no session settings, neither when a connection starts nor later', async () => {
      const allowed = ['user', 'database', 'client_encoding', 'application_name'];
      assert.ok(proxy.startups.length > 0);
      for (const startup of proxy.startups)
        assert.deepEqual(
          startup.filter((_, at) => at % 2 === 0 && !allowed.includes(startup[at] ?? '')),
          [],
        );
    });

    it(prepared === 'on' ? 'are prepared with a name' : 'are not prepared with a name', async () => {
      const requests: [string, string, RequestOptions][] = [
        ['GET', page, { key }],
        ['PATCH', other.chunkPath, patch('new text')],
        ['GET', models, { key }],
      ];
      for (const [method, path, options] of requests) {
        const { statements } = await requestWithCachedKey(method, path, options);
        assert.equal(statements.length, 1);
        assert.equal(statements[0]?.name !== '', prepared === 'on');
      }
    });
  });

describe('statements executed on SQLite', () => {
  let service: Service;
  const { one, other, admin, records } = makeTwoTenants();
  const second = message(one.ids.conversation, 2);
  const page = `/v1/messages?conversation_id=${one.ids.conversation}`;
  const executed: string[] = [];
  /** Statements that were planned while they were executed: SQLite calls the authorizer whenever it plans a statement. */
  const planned = new Set<string>();
  const methods = ['all', 'get', 'run', 'iterate'] as const;
  const originals = new Map(methods.map((method) => [method, StatementSync.prototype[method]]));
  const { exec, prepare } = DatabaseSync.prototype;

  before(async () => {
    for (const method of methods) {
      const original = StatementSync.prototype[method] as (...values: unknown[]) => unknown;
      Object.assign(StatementSync.prototype, {
        [method](this: StatementSync, ...values: unknown[]) {
          executed.push(this.sourceSQL);
          return original.apply(this, values);
        },
      });
    }
    DatabaseSync.prototype.prepare = function (...input) {
      this.setAuthorizer(() => {
        planned.add(executed.at(-1) ?? '');
        return constants.SQLITE_OK;
      });
      return prepare.apply(this, input);
    };
    DatabaseSync.prototype.exec = function (text) {
      executed.push(text);
      return exec.call(this, text);
    };
    service = await startService('sqlite');
    await service.load([...records, message(one.ids.conversation, 1), second]);
  });
  after(async () => {
    Object.assign(StatementSync.prototype, Object.fromEntries(originals));
    Object.assign(DatabaseSync.prototype, { exec, prepare });
    await service?.close();
  });

  async function run(method: string, path: string, options: RequestOptions, status: number): Promise<string[]> {
    executed.length = 0;
    assert.equal((await service.request(method, path, options)).status, status);
    return executed.map(summarize);
  }
  const key = one.keys.app;
  const dataVersion = summarize('PRAGMA data_version');

  const change = () => service.load([{ record: 'workspace', id: randomUUID(), name: 'a change' }]);
  const readPage = ['BEGIN', 'SELECT conversations', 'SELECT messages', 'COMMIT'];
  const readOlder = ['BEGIN', 'SELECT conversations messages', 'SELECT messages', 'COMMIT'];

  it('of GET /messages read the data version, the key, and the page in one snapshot', async () => {
    await change();
    assert.deepEqual(await run('GET', page, { key }, 200), [dataVersion, findKeyStatement, ...readPage]);
    await change();
    const older = `${page}&user=ann&first_id=${second.id}`;
    assert.deepEqual(await run('GET', older, { key }, 200), [dataVersion, findKeyStatement, ...readOlder]);
    await change();
    const missing = await run('GET', `${page}&user=bob`, { key }, 404);
    assert.deepEqual(missing, [dataVersion, findKeyStatement, 'BEGIN', 'SELECT conversations', 'COMMIT']);
  });

  it('of a repeated GET /messages read only the data version if nothing has changed, otherwise the conversation version but no message', async () => {
    for (const path of [page, `${page}&user=ann&first_id=${second.id}`]) {
      const conditional = {
        key,
        headers: { 'if-none-match': (await service.request('GET', path, { key })).headers.etag ?? '' },
      };
      await run('GET', path, { key }, 200);
      assert.deepEqual(await run('GET', path, { key }, 200), [dataVersion]);
      assert.deepEqual(await run('GET', path, conditional, 304), [dataVersion]);
      await change();
      const version = (path === page ? readPage : readOlder).filter((text) => text !== 'SELECT messages');
      assert.deepEqual(await run('GET', path, { key }, 200), [dataVersion, findKeyStatement, ...version]);
      await change();
      assert.deepEqual(await run('GET', path, conditional, 304), [dataVersion, findKeyStatement, ...version]);
    }
  });

  it('of a repeated GET /messages read its messages again with PAGE_CACHE=0, and none for a 304', async (t) => {
    const uncached = await startService('sqlite', { PAGE_CACHE: '0' });
    t.after(() => uncached.close());
    await uncached.load([...records, message(one.ids.conversation, 1), second]);
    const { etag = '' } = (await uncached.request('GET', page, { key })).headers;
    for (let times = 0; times < 3; times += 1) {
      executed.length = 0;
      planned.clear();
      assert.equal((await uncached.request('GET', page, { key })).status, 200);
      assert.deepEqual(executed.map(summarize), [dataVersion, ...readPage]);
    }
    assert.deepEqual([...planned], []);
    executed.length = 0;
    assert.equal((await uncached.request('GET', page, { key, headers: { 'if-none-match': etag } })).status, 304);
    assert.deepEqual(executed.map(summarize), [dataVersion]);
  });

  it('of models and GET of a chunk are one for the key if something has changed, and one for the response', async () => {
    await change();
    assert.deepEqual(await run('GET', models, { key }, 200), [dataVersion, findKeyStatement, 'SELECT model_entries']);
    assert.deepEqual(await run('GET', models, { key }, 200), [dataVersion, 'SELECT model_entries']);
    const knowledge = { key: one.keys.knowledge };
    assert.deepEqual(await run('GET', one.chunkPath, knowledge, 200), [
      dataVersion,
      findKeyStatement,
      findChunkStatement,
    ]);
    assert.deepEqual(await run('GET', other.chunkPath, knowledge, 404), [dataVersion, findChunkStatement]);
  });

  it('of lists are planned once', async () => {
    const knowledge = one.keys.knowledge;
    const { dataset, document, segment } = one.ids;
    const lists: [string, string][] = [
      ['/v1/conversations?user=ann', key],
      ['/v1/datasets', knowledge],
      [`/v1/datasets/${dataset}/documents`, knowledge],
      [`/v1/datasets/${dataset}/documents/${document}/segments`, knowledge],
      [`/v1/datasets/${dataset}/documents/${document}/segments/${segment}/child_chunks`, knowledge],
      ['/admin/changes', admin],
    ];
    for (const [path, listKey] of lists) {
      // The first execution after the tables were created is planned again.
      for (let times = 0; times < 3; times += 1) {
        planned.clear();
        assert.match(`${await run('GET', path, { key: listKey }, 200)}`, /SELECT/, path);
      }
      assert.deepEqual([...planned], [], path);
    }
  });

  it('of PATCH are one for the key on the main thread', async () => {
    for (const content of ['new text', 'new text', 'newer text']) {
      const options = { key: one.keys.knowledge, body: { content } };
      await change();
      assert.deepEqual(await run('PATCH', one.chunkPath, options, 200), [dataVersion, findKeyStatement]);
    }
  });

  it('of PATCH are one transaction on the writer thread', async () => {
    // The writer thread of the product, with its statements reported.
    const code = `
      const { parentPort } = require('node:worker_threads');
      const { DatabaseSync, StatementSync } = require('node:sqlite');
      const report = (sql) => parentPort.postMessage({ sql });
      for (const method of ['all', 'get', 'run']) {
        const original = StatementSync.prototype[method];
        StatementSync.prototype[method] = function (...values) {
          report(this.sourceSQL);
          return original.apply(this, values);
        };
      }
      const { exec } = DatabaseSync.prototype;
      DatabaseSync.prototype.exec = function (text) {
        report(text);
        return exec.call(this, text);
      };
      import(${JSON.stringify(new URL('../../src/store/sqlite/writer-thread.ts', import.meta.url).href)});`;
    const path = service.config.database_url.replace('sqlite:', '');
    const writer = new Worker(code, { eval: true, workerData: { path } });
    const reported: string[] = [];
    const { port1, port2 } = new MessageChannel();
    const group = new Int32Array(new SharedArrayBuffer(4)).fill(groupStates.sent);
    const longWrite = new Int32Array(new SharedArrayBuffer(4));
    const commits = new Int32Array(new SharedArrayBuffer(4));
    writer.postMessage({ port: port1, group, longWrite, commits }, [port1]);
    const responded = new Promise<unknown>((resolve, reject) => {
      writer.on('error', reject);
      writer.on('message', ({ sql }) => reported.push(sql));
      port2.on('message', resolve);
    });
    const { dataset, document, segment, chunk } = one.ids;
    const ids = { dataset_id: dataset, document_id: document, segment_id: segment, child_chunk_id: chunk };
    const text = { content: 'text by the writer', word_count: 4, now: 2_000_000_000, key_id: one.keyIds.knowledge };
    const workspace_id = one.ids.workspace;
    const edit = { ...ids, workspace_id, ...text, version: newVersion(), precondition: undefined };
    port2.postMessage([{ name: 'updateChildChunk', input: edit }]);
    const [outcome] = ((await responded) as { outcomes: { result?: { version: string } }[] }).outcomes;
    writer.postMessage('close');
    await once(writer, 'exit');
    assert.equal(outcome?.result?.version, edit.version);
    const steps = reported.slice(reported.indexOf('BEGIN IMMEDIATE')).map(summarize);
    assert.deepEqual(
      steps.map((step) => step.trim()),
      [
        ...['BEGIN', findChunkStatement, 'UPDATE child_chunks'],
        ...['SELECT child_chunk_revisions', 'INSERT child_chunk_revisions'],
        ...['INSERT audit_entries', 'INSERT change_outbox', 'COMMIT'],
      ],
    );
    // A statement that needs a temporary table is one for many rows: SQLite copies each page that it changes into a file.
    const db = new DatabaseSync(path);
    for (const text of reported.filter((one) => /^\s*(INSERT|UPDATE|DELETE)/.test(one))) {
      const opcodes = db
        .prepare(`EXPLAIN ${text}`)
        .all()
        .map(({ opcode }) => opcode);
      assert.ok(!opcodes.includes('OpenEphemeral'), text);
    }
    db.close();
  });
});

const length = 200_000;
const ties = 100_000;
const limit = 100;
const tiedSecond = 5_000_000;

/** Enough rows in every table that a sequential scan would be the worse plan. */
const filler = [
  `INSERT INTO workspaces SELECT 'w' || i, 'w' FROM generate_series(1, 2000) i`,
  `INSERT INTO apps SELECT 'a' || i, 'w' || i, 'a', 'chat' FROM generate_series(1, 2000) i`,
  `INSERT INTO api_keys SELECT 'k' || i, 'app', 'w' || i, 'a' || i, NULL, 'k', md5(i::text), 1, NULL, NULL
   FROM generate_series(1, 5000) i`,
  `INSERT INTO conversations (conversation_id, app_id, "user", created_at, deleted, version, next_sequence, last_message_at)
   SELECT 'c' || i, 'a' || i % 2000, 'u', 1, 0, 'v', 1, i FROM generate_series(1, 10000) i`,
  `INSERT INTO datasets SELECT 'd' || i, 'w' || i, 'd' FROM generate_series(1, 2000) i`,
  `INSERT INTO documents SELECT 'd' || i % 2000, 'o' || i, 'o' FROM generate_series(1, 5000) i`,
  `INSERT INTO segments SELECT 'd' || i % 2000, 's' || i, 'o' || i % 5000, i, 's' FROM generate_series(1, 10000) i`,
  `INSERT INTO child_chunks SELECT 'd' || i % 2000, 'h' || i, 's' || i % 10000, 'text', i, 1, 'automatic', 1, 1, 'v'
   FROM generate_series(1, 20000) i`,
  `INSERT INTO child_chunk_revisions SELECT 'd' || i % 2000, 'h' || i, 1, 'text', 1, NULL
   FROM generate_series(1, 10000) i`,
  `INSERT INTO model_providers SELECT 'w' || i % 500, 'p' || i, i, '{}' FROM generate_series(1, 5000) i`,
  `INSERT INTO model_entries SELECT 'w' || i % 500, 'llm', i, '{}' FROM generate_series(1, 5000) i`,
  `INSERT INTO messages SELECT 'c1', i, i, 'm' || i, '{"answer":"short"}' FROM generate_series(1, ${length}) i`,
  `INSERT INTO messages SELECT 'c2', ${tiedSecond}, i, 'm' || i, '{"answer":"short"}'
   FROM generate_series(1, ${ties}) i`,
  // Messages of other conversations, with smaller, equal and larger keys.
  `INSERT INTO messages SELECT 'c' || i % 5000 + 3, i, i, 'm' || i, '{"answer":"short"}'
   FROM generate_series(1, 20000) i`,
];

describe('query plans on PostgreSQL', () => {
  let client: pg.Client;
  let close: () => Promise<void>;

  before(async () => {
    ({ client, close } = await openPostgres());
    for (const statement of filler) await client.query(statement);
    await client.query('VACUUM ANALYZE');
  });
  after(() => close?.());

  const modes = ['force_custom_plan', 'force_generic_plan'] as const;
  let preparedCount = 0;
  /** The plan of a prepared statement, with the statistics of its execution. */
  async function explainAs(mode: (typeof modes)[number], text: string, values: (string | number | null)[]) {
    await client.query(`SET plan_cache_mode = ${mode}`);
    const name = `explained_${++preparedCount}`;
    await client.query(`PREPARE ${name} AS ${numberParameters(text)}`);
    const literals = values.map((value) => (typeof value === 'string' ? pg.escapeLiteral(value) : String(value)));
    const execute = `EXECUTE ${name}${literals.length > 0 ? `(${literals.join(', ')})` : ''}`;
    return explain(client, execute);
  }
  function assertIndexed(plan: Plan): void {
    assert.ok(!stepsOf(plan).some((step) => step['Node Type'] === 'Seq Scan'), describePlan(plan));
  }

  /** The scan that reads the page uses the primary key and reads only the rows of the page. */
  function assertPage(plan: Plan, hasFirst: boolean, rows: number): void {
    assertIndexed(plan);
    const scan = stepsOf(plan).find((step) => step.Alias === 'messages');
    assert.equal(scan?.['Node Type'], 'Index Scan', describePlan(plan));
    assert.equal(scan['Index Name'], 'messages_pkey');
    assert.equal(scan['Scan Direction'], 'Backward');
    assert.match(scan['Index Cond'] ?? '', /conversation_id = /);
    if (hasFirst)
      assert.match(scan['Index Cond'] ?? '', /ROW\(created_at, sequence\) < ROW\(f\.created_at, f\.sequence\)/);
    assert.equal(scan['Rows Removed by Filter'] ?? 0, 0);
    assert.equal(scan['Actual Rows'], rows);
    for (const step of stepsOf(plan))
      if (/Sort/.test(step['Node Type'])) assert.ok((step['Actual Rows'] ?? 0) <= limit + 1, describePlan(plan));
    assert.ok(rowsRead(plan) <= limit + 1 + 2, `${rowsRead(plan)} rows read`);
    const blocks = (plan['Shared Hit Blocks'] ?? 0) + (plan['Shared Read Blocks'] ?? 0);
    assert.ok(blocks < limit + 50, `${blocks} blocks read`);
  }

  for (const mode of modes) {
    it(`read only the page at the start, in the middle and at the end of ${length} messages, ${mode}`, async (t) => {
      const places = { newest: length, middle: length / 2, oldest: limit / 2 };
      for (const hasUser of [false, true]) {
        const user = hasUser ? ['u'] : [];
        const latest = await explainAs(mode, pageStatement(false, hasUser), ['', 'c1', 'a1', ...user, limit + 1]);
        assertPage(latest, false, limit + 1);
        t.diagnostic(`no first_id: ${rowsRead(latest)} rows read: ${describePlan(latest)}`);
        for (const [place, first] of Object.entries(places)) {
          const values = [`m${first}`, '', 'c1', 'a1', ...user, limit + 1];
          const plan = await explainAs(mode, pageStatement(true, hasUser), values);
          assertPage(plan, true, Math.min(limit + 1, first - 1));
          const blocks = (plan['Shared Hit Blocks'] ?? 0) + (plan['Shared Read Blocks'] ?? 0);
          t.diagnostic(`${place}: ${rowsRead(plan)} rows, ${blocks} blocks read: ${describePlan(plan)}`);
        }
      }
    });

    it(`read only the page among ${ties} messages of one second, ${mode}`, async (t) => {
      for (const first of [ties, ties / 2, 10]) {
        const plan = await explainAs(mode, pageStatement(true, false), [`m${first}`, '', 'c2', 'a2', limit + 1]);
        assertPage(plan, true, Math.min(limit + 1, first - 1));
        t.diagnostic(`from ${first}: ${rowsRead(plan)} rows read`);
      }
    });

    it(`read no page for a missing first_id, ${mode}`, async () => {
      const plan = await explainAs(mode, pageStatement(true, false), ['none', '', 'c1', 'a1', limit + 1]);
      assertPage(plan, true, 0);
      assert.ok(rowsRead(plan) <= 2);
    });

    it(`read only the rows needed, by their keys, for every other statement of the operations, ${mode}`, async (t) => {
      const [findChunk, ...chunk] = findChunkPath({
        dataset_id: 'd1',
        workspace_id: 'w1',
        document_id: 'o1',
        segment_id: 's1',
        child_chunk_id: 'h1',
      });
      const cases: [string, string, (string | number | null)[], number][] = [
        ['key', sql.findKey, ['c4ca4238a0b923820dcc509a6f75849b', 0], 2],
        ['cached page', pageStatement(false, true), ['v', 'c1', 'a1', 'u', limit + 1], 1],
        ['cached page with first_id', pageStatement(true, false), ['m9', 'v', 'c1', 'a1', limit + 1], 2],
        ['models', appStatements.listModelEntries, ['w1', 'llm'], 10],
        ['chunk', findChunk, chunk as string[], 4],
      ];
      for (const [name, text, values, rows] of cases) {
        const plan = await explainAs(mode, text, values);
        assertIndexed(plan);
        // The step that writes a row counts it as read once more.
        assert.ok(rowsRead(plan) <= rows, `${name}: ${rowsRead(plan)} rows read: ${describePlan(plan)}`);
        t.diagnostic(`${name}: ${rowsRead(plan)} rows read: ${describePlan(plan)}`);
      }
    });
  }

  it('of an export scan the large tables by their keys, without sorting', async () => {
    await client.query('SET plan_cache_mode = auto');
    for (const step of exportSteps) {
      const text = selectByKey(step, 'small');
      if (!/FROM (messages|conversations|documents|segments|child_chunks|child_chunk_revisions)\b/.test(text)) continue;
      const { rows } = await client.query(`EXPLAIN (FORMAT JSON) DECLARE walk NO SCROLL CURSOR FOR ${text}`);
      const plan = rows[0]['QUERY PLAN'][0].Plan as Plan;
      assert.ok(!stepsOf(plan).some((step) => step['Node Type'].includes('Sort')), `${text}: ${describePlan(plan)}`);
    }
  });
});

describe('query plans on SQLite', () => {
  let db: DatabaseSync;
  let close: () => Promise<void>;

  before(async () => {
    ({ db, close } = await openSqlite());
    db.exec(`
      INSERT INTO conversations (conversation_id, app_id, "user", created_at, deleted, version, next_sequence, last_message_at)
        VALUES ('c1', 'a1', 'u', 1, 0, 'v', 1, 1), ('c2', 'a2', 'u', 1, 0, 'v', 1, 1);
      INSERT INTO messages (conversation_id, created_at, sequence, id, doc)
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${length})
        SELECT 'c1', i, i, 'm' || i, '{"answer":"short"}' FROM n;
      INSERT INTO messages (conversation_id, created_at, sequence, id, doc)
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${ties})
        SELECT 'c2', ${tiedSecond}, i, 'm' || i, '{"answer":"short"}' FROM n;`);
  });
  after(() => close?.());

  /** The statement reads by keys only. Scans of parameter lists and of subquery results are allowed. */
  function assertSearch(text: string, ...expected: RegExp[]): void {
    const plan = planOf(db, text).filter((step) => !/^SCAN (json_each VIRTUAL TABLE|\(subquery)/.test(step));
    const details = `${text}\n${plan.join('\n')}`;
    assert.ok(
      plan.some((step) => step.startsWith('SEARCH ')),
      details,
    );
    assert.ok(!plan.some(isWasteful), details);
    for (const pattern of expected)
      assert.ok(
        plan.some((step) => pattern.test(step)),
        `${pattern} in ${details}`,
      );
  }

  const byConversation = /^SEARCH c USING INDEX sqlite_autoindex_\w+ \(conversation_id=\?\)/;
  const byId = /^SEARCH f USING (COVERING )?INDEX messages_by_message \(id=\? AND conversation_id=\?\)/;

  it('are rejected by the test if they have a scan, a sort or a wrong key', () => {
    assert.throws(() => assertSearch('SELECT * FROM messages WHERE sequence = ?'));
    assert.throws(() => assertSearch('SELECT * FROM messages WHERE conversation_id = ? ORDER BY sequence'));
    assert.throws(() => assertSearch('SELECT * FROM messages WHERE conversation_id = ?', /sequence/));
  });

  it('of pages find the conversation by its key, and its messages by theirs', (t) => {
    const { conversation, messages, positions } = embedded.pageStatements;
    for (const form of ['anyUser', 'user'] as const) {
      assertSearch(conversation.newest[form], byConversation);
      assertSearch(conversation.older[form], byConversation, byId);
    }
    const latest = /^SEARCH messages USING PRIMARY KEY \(conversation_id=\?\)/;
    const range = /^SEARCH messages USING PRIMARY KEY \(conversation_id=\? AND \(created_at,sequence\)<\(\?,\?\)\)/;
    assertSearch(messages.newest.newest_first, latest);
    assertSearch(messages.older.newest_first, range);
    t.diagnostic(planOf(db, messages.older.newest_first).join(' / '));
    // Without a lower bound, which would make SQLite read each row as a whole.
    assertSearch(positions.newest, /^SEARCH messages USING PRIMARY KEY \(conversation_id<\?\)/);
    assertSearch(positions.older, /^SEARCH messages USING PRIMARY KEY \(\(conversation_id,created_at,sequence\)</);
    // Reversing a page sorts the page, and nothing else.
    for (const [from, pattern] of [
      ['newest', latest],
      ['older', range],
    ] as const) {
      const plan = planOf(db, messages[from].oldest_first);
      assert.ok(
        plan.some((step) => pattern.test(step)),
        plan.join('\n'),
      );
      assert.deepEqual(
        plan.filter((step) => step.includes('TEMP B-TREE')),
        ['USE TEMP B-TREE FOR ORDER BY'],
      );
      t.diagnostic(plan.join(' / '));
    }
  });

  it('make a page equally fast at the start and at the end, also among equal times', (t) => {
    const statement = db.prepare(embedded.pageStatements.messages.older.newest_first);
    const median = (...values: (string | number)[]): number => {
      const times = Array.from({ length: 51 }, () => {
        const startedAt = performance.now();
        assert.equal(statement.get(...values)?.count, limit + 1);
        return performance.now() - startedAt;
      });
      return times.sort((one, other) => one - other)[25] ?? 0;
    };
    const newest = median('c1', length, length, limit + 1);
    const oldest = median('c1', limit + 2, limit + 2, limit + 1);
    const tied = median('c2', tiedSecond, limit + 2, limit + 1);
    for (const [place, millis] of Object.entries({ newest, oldest, tied }))
      t.diagnostic(`${place}: ${(millis * 1000).toFixed(0)} µs`);
    // Scanning to a page instead of seeking it would take a thousand times as long.
    assert.ok(Math.max(oldest, tied) < newest * 20 + 1);
  });

  it('use keys for every other lookup', () => {
    assertSearch(sql.findKey, /^SEARCH k USING INDEX \w+ \(digest=\?\)/, /^SEARCH a USING INDEX \w+ \(id=\?\)/);
    assertSearch(
      appStatements.listModelEntries,
      /USING INDEX sqlite_autoindex_\w+ \(workspace_id=\? AND model_type=\?\)/,
    );
    const ids = { dataset_id: 'd', workspace_id: 'w', document_id: 'o', segment_id: 's', child_chunk_id: 'c' };
    assertSearch(
      findChunkPath(ids)[0],
      /^SEARCH d USING INDEX sqlite_autoindex_\w+ \(id=\?\)/,
      /^SEARCH o USING COVERING INDEX sqlite_autoindex_documents_1 \(dataset_id=\? AND id=\?\)/,
      /^SEARCH s USING INDEX sqlite_autoindex_segments_1 \(dataset_id=\? AND id=\?\)/,
      /^SEARCH c USING INDEX sqlite_autoindex_child_chunks_1 \(dataset_id=\? AND id=\?\)/,
    );
    assertSearch(
      recordStatements.addRevisions(embedded.dialect),
      /^SEARCH c USING INDEX sqlite_autoindex_child_chunks_1/,
      /^SEARCH r USING .*dataset_id=\? AND child_chunk_id=\?/,
    );
    const { findMessage, replaceMessage, findConversation, advanceConversation } = messages;
    const { findProviderPosition, findLastPosition, clearModelEntries, findMessageIds } = recordStatements;
    const others = [findMessage, replaceMessage, findConversation, findProviderPosition, findMessageIds];
    const more = [advanceConversation, findLastPosition, clearModelEntries, setRevoked, replaceChunk, findLastRevision];
    const filter = { before: 'e', from: 1, key_id: 'k', record_id: 'r', limit: 1 };
    for (const [text] of [audit.findEntries(filter, undefined), audit.scanEnd(filter) ?? assert.fail()])
      assertSearch(text);
    for (const text of [audit.trimEntries, setLastUse.one]) assertSearch(text);
    for (const text of [...others, ...more]) assertSearch(text);
    const selections = [{ conversation_id: 'c' }, { app_id: 'a', user: 'u' }, { app_id: 'a', inactive_before: 1 }];
    for (const selection of selections) {
      for (const bound of [erasure.countConversations, erasure.countMessages, erasure.findConversations])
        assertSearch(bound(selection)[0]);
      assertSearch(erasure.deleteConversations(selection, '[]', embedded.dialect)[0]);
    }
    assertSearch(erasure.findOldestActivity);
    assertSearch(erasure.countMessagesOf(embedded.dialect));
    assertSearch(erasure.findTombstones(embedded.dialect));
    const kinds = ['workspace', 'app', 'dataset', 'document', 'segment', 'child_chunk', 'conversation'] as const;
    for (const kind of [...kinds, 'api_key', 'digest', 'key_digest'] as const)
      for (const condition of ['IN (SELECT value FROM json_each(?))', '= ?'])
        assertSearch(lookupStatement(kind, (column) => `${column} ${condition}`));
  });

  it('of an export scan the large tables by their keys, without sorting', () => {
    for (const step of exportSteps) {
      const text = selectByKey(step, 'all');
      const plan = planOf(db, text);
      assert.ok(plan.length === 1 && plan[0]?.startsWith('SCAN'), `${text}: ${plan.join(' / ')}`);
    }
  });
});
