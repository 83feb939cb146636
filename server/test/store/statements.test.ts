import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { constants, type DatabaseSync } from 'node:sqlite';
import { after, before, describe, it } from 'node:test';
import pg from 'pg';
import { makeSecret } from '../../src/domain/secret.ts';
import {
  makeTwoTenants,
  message,
  newMigratedUrl,
  pluck,
  type RequestOptions,
  type Service,
  startService,
  type TestResponse,
} from '../support/harness.ts';
import { type RecordingProxy, startProxy, summarize, type Traffic } from './recording-proxy.ts';

const findKeyStatement = 'SELECT api_keys apps';
const findChunkStatement = 'SELECT datasets documents segments child_chunks';
/** Node.js publishes each statement that SQLite has executed in this thread. */
const queryChannel = 'sqlite.db.query';
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
      await service.as(options.key).get(models);
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
      assert.deepEqual(pluck(proxy.traffic.statements, 'text'), ['SELECT 1', 'SELECT $1::text']);
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
      assert.deepEqual(pluck(observed.response.body.data, 'id'), [first.id]);
      assertOneStatement(
        await requestWithCachedKey('GET', `${page}&user=ann&first_id=${second.id}`, { key }),
        200,
        'SELECT conversations messages',
      );
    });

    it('are two without a distribution column for a search, and one for its texts', async () => {
      await service.index();
      await service.as(admin).get('/admin/search?q=nothing');
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
      const etag = (await service.as(key).get(page)).headers.etag ?? '';
      const conditional = { key, headers: { 'if-none-match': etag } };
      assertOneStatement(await requestWithCachedKey('GET', page, conditional), 304, 'SELECT conversations messages');
      const older = `${page}&first_id=${second.id}`;
      const olderTag = (await service.as(key).get(older)).headers.etag ?? '';
      const headers = { 'if-none-match': olderTag };
      assertOneStatement(
        await requestWithCachedKey('GET', older, { key, headers }),
        304,
        'SELECT conversations messages',
      );
    });

    it('are one for GET /messages with an If-None-Match that does not match', async () => {
      const etag = (await service.as(key).get(page)).headers.etag ?? '';
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
  /** Actions of statements that were planned: SQLite calls the authorizer whenever it plans a statement. */
  let planned = 0;
  const databases = new WeakSet<DatabaseSync>();
  const record = (message: unknown) => {
    const { sql, database } = message as { sql: string; database: DatabaseSync };
    executed.push(sql);
    if (databases.has(database)) return;
    databases.add(database);
    database.setAuthorizer(() => {
      planned += 1;
      return constants.SQLITE_OK;
    });
  };

  before(async () => {
    subscribe(queryChannel, record);
    service = await startService('sqlite');
    await service.load([...records, message(one.ids.conversation, 1), second]);
  });
  after(async () => {
    unsubscribe(queryChannel, record);
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
        headers: { 'if-none-match': (await service.as(key).get(path)).headers.etag ?? '' },
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
    const { etag = '' } = (await uncached.as(key).get(page)).headers;
    for (let times = 0; times < 3; times += 1) {
      executed.length = 0;
      planned = 0;
      assert.equal((await uncached.as(key).get(page)).status, 200);
      assert.deepEqual(executed.map(summarize), [dataVersion, ...readPage]);
    }
    assert.equal(planned, 0);
    executed.length = 0;
    assert.equal((await uncached.as(key).get(page, { 'if-none-match': etag })).status, 304);
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
        planned = 0;
        assert.match(`${await run('GET', path, { key: listKey }, 200)}`, /SELECT/, path);
      }
      assert.equal(planned, 0, path);
    }
  });

  it('of PATCH are one for the key on the main thread', async () => {
    for (const content of ['new text', 'new text', 'newer text']) {
      const options = { key: one.keys.knowledge, body: { content } };
      await change();
      assert.deepEqual(await run('PATCH', one.chunkPath, options, 200), [dataVersion, findKeyStatement]);
    }
  });
});
