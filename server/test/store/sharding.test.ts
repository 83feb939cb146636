import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { after, before, describe, it } from 'node:test';
import pg from 'pg';
import { purge } from '../../src/domain/erasure/purge.ts';
import { makeSecret } from '../../src/domain/secret.ts';
import { distribution, shardMark } from '../../src/store/base/distribution.ts';
import { distributionSteps } from '../../src/store/postgres/citus/distribute.ts';
import { installFakeCitus } from '../citus/fake-citus.ts';
import { call, newFolder, oneLine } from '../support/cli-helpers.ts';
import {
  databaseAt,
  makeTwoTenants,
  message,
  newDatabaseUrl,
  pluck,
  type RequestOptions,
  type Service,
  startService,
} from '../support/harness.ts';
import { openPostgres } from '../support/plans.ts';
import { type RecordingProxy, type SentStatement, startProxy } from './recording-proxy.ts';

/**
 * The rules that allow the tables to be distributed over several machines, checked on the catalog of a migrated database
 * and on the statements that the service sends.
 */

const distributed: Readonly<Record<string, string>> = distribution.distributed;
const reference: readonly string[] = distribution.reference;
/** Tables on one node. */
const single: readonly string[] = distribution.single;
/** Tables that serialize migrations and imports. */
const control: readonly string[] = distribution.control;

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client(url);
  await client.connect();
  return client;
}

describe('the schema', () => {
  let client: pg.Client;
  let close: () => Promise<void>;
  before(async () => {
    ({ client, close } = await openPostgres());
  });
  after(() => close?.());

  const ours = `relnamespace NOT IN (SELECT oid FROM pg_namespace WHERE nspname ~ '^pg_' OR nspname = 'information_schema')`;
  // biome-ignore lint/suspicious/noExplicitAny: rows of the catalog
  const select = async (text: string): Promise<any[]> => (await client.query(text)).rows;

  it('has exactly the listed tables, each distributed, on one node or a reference table', async () => {
    const rows = await select(`SELECT relname FROM pg_class WHERE relkind IN ('r', 'p') AND ${ours} ORDER BY relname`);
    const listed = [...reference, ...Object.keys(distributed), ...single, ...control];
    assert.equal(new Set(listed).size, listed.length);
    assert.deepEqual(pluck(rows, 'relname'), listed.sort());
  });

  it('distributes the tables by the intended columns', () => {
    const tablesBy = (column: string) => Object.keys(distributed).filter((table) => distributed[table] === column);
    assert.deepEqual(tablesBy('conversation_id').sort(), [
      'conversation_days',
      'conversations',
      'item_appends',
      'messages',
      'reviews',
      'search_messages',
      'tombstones',
    ]);
    const byDataset = ['child_chunk_revisions', 'child_chunks', 'documents', 'search_chunks', 'segments'];
    assert.deepEqual(tablesBy('dataset_id').sort(), byDataset);
    assert.deepEqual(tablesBy('scope'), ['audit_entries', 'change_outbox']);
    assert.equal(Object.keys(distributed).length, 14);
  });

  const keys = () =>
    select(`
      SELECT t.relname AS table, i.relname AS index, x.indisprimary AS is_primary, x.indpred IS NULL AS is_full,
        ARRAY(SELECT coalesce(a.attname::text, '(expression)') FROM unnest(x.indkey::int[]) WITH ORDINALITY k(attnum, at)
          LEFT JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = k.attnum AND k.attnum > 0
          WHERE k.at <= x.indnkeyatts ORDER BY k.at) AS columns
      FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid JOIN pg_class t ON t.oid = x.indrelid
      WHERE x.indisunique AND t.${ours}`);

  it('has the distribution column in every unique index, and first in primary keys except those by time', async () => {
    const uniqueIndexes = (await keys()).filter(({ table }) => table in distributed);
    assert.ok(uniqueIndexes.length >= 7);
    for (const { table, index, is_primary, is_full, columns } of uniqueIndexes) {
      const column = distributed[table] ?? '';
      assert.ok(columns.includes(column), `${index} of ${table} lacks ${column}`);
      assert.ok(is_full && !columns.includes('(expression)'), index);
      // The audit log and the outbox are written and read by time.
      if (is_primary && table !== 'audit_entries' && table !== 'change_outbox')
        assert.equal(columns[0], column, `${index} of ${table}`);
    }
  });

  it('has a primary key on every table', async () => {
    const primary = (await keys()).filter(({ is_primary }) => is_primary).map(({ table }) => table);
    assert.deepEqual(primary.sort(), [...reference, ...Object.keys(distributed), ...single, ...control].sort());
  });

  it('declares the distribution columns with the same type, NOT NULL', async () => {
    const rows = await select(`
      SELECT c.relname AS table, a.attname AS column, a.attnotnull, format_type(a.atttypid, a.atttypmod) AS type, l.collname
      FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid LEFT JOIN pg_collation l ON l.oid = a.attcollation
      WHERE c.relkind = 'r' AND c.${ours}`);
    for (const [table, column] of Object.entries(distributed)) {
      const definition = rows.find((row) => row.table === table && row.column === column);
      assert.deepEqual(
        [definition?.attnotnull, definition?.type, definition?.collname],
        [true, 'text', 'C'],
        `${table}.${column}`,
      );
    }
  });

  it('compares all text by bytes', async () => {
    const rows = await select(`
      SELECT c.relname || '.' || a.attname AS column, l.collname
      FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_collation l ON l.oid = a.attcollation
      WHERE c.relkind IN ('r', 'i') AND a.attnum > 0 AND NOT a.attisdropped AND c.${ours}`);
    assert.ok(rows.length > 40);
    assert.deepEqual(
      rows.filter(({ collname }) => collname !== 'C').map(({ column, collname }) => `${column}: ${collname}`),
      [],
    );
  });

  const absent = {
    'foreign keys or exclusions': `SELECT conname FROM pg_constraint WHERE contype IN ('f', 'x', 't')`,
    'sequences, views or foreign tables': `SELECT relname, relkind FROM pg_class
      WHERE relkind NOT IN ('r', 'i', 't') AND ${ours}`,
    'temporary or unlogged tables': `SELECT relname FROM pg_class WHERE relpersistence <> 'p'`,
    'identity or generated columns': `SELECT attrelid::regclass, attname FROM pg_attribute
      WHERE attidentity <> '' OR attgenerated <> ''`,
    // An older program inserts rows without the columns that have one.
    'column defaults except constants': `SELECT adrelid::regclass, pg_get_expr(adbin, adrelid) FROM pg_attrdef
      WHERE pg_get_expr(adbin, adrelid) !~ '^(0|''[^'']*''::(bigint|text))$'`,
    triggers: 'SELECT tgname FROM pg_trigger',
    'rules or policies': `SELECT ev_class::regclass::text FROM pg_rewrite
      WHERE ev_class IN (SELECT oid FROM pg_class WHERE ${ours}) UNION ALL SELECT polname::text FROM pg_policy`,
    'user-defined functions': `SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace`,
    extensions: `SELECT extname FROM pg_extension WHERE extname <> 'plpgsql'`,
    'inheritance or partitions': 'SELECT inhrelid::regclass FROM pg_inherits',
  };
  for (const [what, text] of Object.entries(absent))
    it(`has no ${what}`, async () => assert.deepEqual(await select(text), []));
});

/** Syntax that no statement may contain, because a distributed engine rejects it or behaves differently. */
const banned: Record<string, RegExp> = {
  'a volatile function':
    /\b(?:random|now|clock_timestamp|statement_timestamp|transaction_timestamp|timeofday|gen_random_uuid|uuidv[47]|uuid_generate_v\d|nextval|currval|setval|lastval|txid_current|pg_sleep)\s*\(/i,
  'the time of the database': /\bCURRENT_(?:TIME|DATE|TIMESTAMP)\b|\bLOCALTIME/i,
  'an advisory lock': /pg_(?:try_)?advisory/i,
  'LISTEN or NOTIFY': /\b(?:UN)?LISTEN\b|\bNOTIFY\b|pg_notify/i,
  'a savepoint': /\bSAVEPOINT\b|\bRELEASE\b|\bROLLBACK TO\b/i,
  'a setting of the session': /^\s*(?:RESET|DISCARD)\b|^\s*SET (?!LOCAL\b)|\bset_config\s*\(|;\s*SET (?!LOCAL\b)/i,
  'a temporary table': /\b(?:TEMP|TEMPORARY|UNLOGGED)\b/i,
  'a foreign key': /\bREFERENCES\b|\bFOREIGN KEY\b/i,
  'a sequence or identity column': /\bSERIAL\b|\bBIGSERIAL\b|\bGENERATED\b|\bIDENTITY\b|\bCREATE SEQUENCE\b/i,
  'a trigger, rule or function': /\bTRIGGER\b|\bCREATE (?:OR REPLACE )?(?:RULE|FUNCTION|PROCEDURE)\b|^\s*DO\b/i,
  'a row or table lock': /\bFOR (?:NO KEY )?(?:UPDATE|SHARE)\b|\bFOR KEY SHARE\b|\bLOCK TABLE\b/i,
};

/** The head of the change feed is one row on one node: it can be locked there, and gets a random epoch. */
const isOnOneNode = (text: string): boolean => /\b(?:FROM|INTO) changes_head\b/.test(text);

function assertAllowed(text: string): void {
  for (const [what, pattern] of Object.entries(banned)) assert.doesNotMatch(text, pattern, `${what}: ${text}`);
}

type Statement = Pick<SentStatement, 'text' | 'values'>;

/** The text from the mention of a table to the end of the enclosing parentheses. */
function scopeAt(text: string, at: number): string {
  let depth = 0;
  for (let end = at; end < text.length; end += 1) {
    if (text[end] === '(') depth += 1;
    if (text[end] === ')') depth -= 1;
    if (depth < 0) return text.slice(at, end);
  }
  return text.slice(at);
}

type TableUse = { table: string; parameter: number | undefined };

/** Every use of a distributed table, with the parameter that its distribution column is compared with. */
function tableUsesIn(sent: string): TableUse[] {
  const text = sent.replaceAll(shardMark, '');
  const words = 'ON|SET|WHERE|LEFT|INNER|JOIN|CROSS|ORDER|GROUP|LIMIT|VALUES|SELECT|RETURNING|AS';
  // A name after a comma is a column if another comma or the end of the list follows.
  const verbs = '\\b(FROM|JOIN|INTO|UPDATE|,(?!\\s+[a-z_]+[,)]))';
  const mention = new RegExp(`${verbs}\\s+([a-z_]+)\\b(?:\\s+(?!(?:${words})\\b)([a-z_]+))?`, 'g');
  return [...text.matchAll(mention)]
    .flatMap(([, verb, table = '', alias]) => {
      const column = distributed[table];
      return column === undefined ? [] : [{ verb, table, alias, column }];
    })
    .map(({ verb, table, alias, column }) => {
      const start = text.search(new RegExp(`\\b${verb}\\s+${table}\\b${alias ? `\\s+${alias}\\b` : ''}`));
      const scope = scopeAt(text, start);
      let match: RegExpExecArray | null;
      if (verb === 'INTO') {
        const columns =
          /\(([^)]*)\)/
            .exec(scope)?.[1]
            ?.split(',')
            .map((one) => one.trim()) ?? [];
        const inserted = /\)\s*(?:SELECT|VALUES\s*\()\s*([\s\S]*)/.exec(scope)?.[1]?.split(',') ?? [];
        match = /^\s*\$(\d+)(?:::text)?\s*(?:FROM\b|\)|$)/.exec(inserted[columns.indexOf(column)] ?? '');
      } else if (alias !== undefined) {
        match = new RegExp(`(?<![\\w.])${alias}\\.${column} = \\$(\\d+)`).exec(scope);
      } else {
        match = new RegExp(`(?<![\\w.])(?:${table}\\.)?${column} = \\$(\\d+)`).exec(scope);
      }
      return { table, parameter: match === null ? undefined : Number(match[1]) };
    });
}

describe('the statement checks', () => {
  it('find the parameter of each table', () => {
    const table = 'messages';
    assert.deepEqual(tableUsesIn('SELECT 1 FROM messages m WHERE m.conversation_id = $2'), [{ table, parameter: 2 }]);
    assert.deepEqual(tableUsesIn('SELECT (SELECT 1 FROM messages WHERE conversation_id = $1)'), [
      { table, parameter: 1 },
    ]);
    assert.deepEqual(tableUsesIn('SELECT (SELECT 1 FROM messages) WHERE conversation_id = $1'), [
      { table, parameter: undefined },
    ]);
    assert.deepEqual(tableUsesIn('SELECT 1 FROM messages m WHERE m.conversation_id = c.conversation_id'), [
      { table, parameter: undefined },
    ]);
    assert.deepEqual(tableUsesIn('INSERT INTO messages (id, conversation_id) SELECT $1, $2 FROM x'), [
      { table, parameter: 2 },
    ]);
    assert.deepEqual(tableUsesIn('INSERT INTO messages (id, conversation_id) SELECT $1, x.c FROM x'), [
      { table, parameter: undefined },
    ]);
    assert.deepEqual(tableUsesIn('UPDATE messages SET doc = $1 WHERE id = $2'), [{ table, parameter: undefined }]);
    assert.deepEqual(tableUsesIn('SELECT 1 FROM apps a'), []);
  });

  it('detect what is banned', () => {
    const wrong = ['SELECT now()', 'SET x = 1', 'SAVEPOINT a', 'SELECT 1 FROM a FOR UPDATE', 'LISTEN a'];
    const more = ['CREATE TEMP TABLE a (b INT)', 'SELECT pg_advisory_lock(1)', 'SELECT gen_random_uuid()'];
    for (const text of [...wrong, ...more, 'CREATE TABLE a (b INT REFERENCES c)', 'CREATE TABLE a (b SERIAL)'])
      assert.throws(() => assertAllowed(text), text);
    assertAllowed('UPDATE a SET b = $1 WHERE c = $2');
  });
});

describe('the statements', () => {
  let service: Service;
  let client: pg.Client;
  let database: Awaited<ReturnType<typeof newDatabaseUrl>> | undefined;
  let proxy: RecordingProxy | undefined;
  const all: Statement[] = [];
  let operations: Statement[] = [];
  const reads: Statement[] = [];
  const { one, other, admin, records } = makeTwoTenants();
  const conversation = one.ids.conversation;
  const first = message(conversation, 1);
  const second = message(conversation, 2);

  before(async () => {
    // Empty, so that its migration is recorded.
    database = await newDatabaseUrl('postgres');
    proxy = await startProxy(database.url);
    const sent = proxy.traffic.statements;
    service = await startService('postgres', {}, proxy.url);
    const provider = { record: 'model_provider', workspace_id: one.ids.workspace, provider: 'p', status: 'active' };
    const labels = { label: { en_US: 'p' }, icon_small: null, icon_large: null, models: [] };
    await service.load([...records, first, second]);
    await service.load([...records, { ...provider, ...labels }]).catch(() => undefined);
    const texts = ['another text', 'the text after'];
    for (const content of texts)
      await service.load([
        { record: 'child_chunk', id: one.ids.chunk, segment_id: one.ids.segment, position: 1, content },
      ]);
    await service.load([{ ...first, created_at: undefined, answer: 'again' }]);
    await service.load([{ ...first, created_at: 3, message_tokens: 1 }]);

    const start = sent.length;
    const page = `/v1/messages?conversation_id=${conversation}`;
    const requests: [string, string, RequestOptions][] = [];
    for (const user of ['', '&user=ann'])
      for (const before of ['', `&first_id=${second.id}`])
        for (const headers of [{}, { 'if-none-match': '"other"' }])
          requests.push(['GET', `${page}${user}${before}`, { key: one.keys.app, headers }]);
    const etag = (await service.as(one.keys.app).get(page)).headers.etag ?? '';
    requests.push(['GET', page, { key: one.keys.app, headers: { 'if-none-match': etag } }]);
    for (const [content, headers] of [
      ['new text', {}],
      ['new text', {}],
      ['newer text', { 'if-match': '"stale"' }],
      ['newer text', { 'if-match': '*' }],
    ] as const)
      requests.push(['PATCH', one.chunkPath, { key: one.keys.knowledge, headers, body: { content } }]);
    requests.push(['PATCH', other.chunkPath, { key: one.keys.knowledge, body: { content: 'x' } }]);
    requests.push(['GET', one.chunkPath, { key: one.keys.knowledge }]);
    const document = `/v1/datasets/${one.ids.dataset}/documents/${one.ids.document}`;
    const segment = `${document}/segments/${one.ids.segment}`;
    for (const path of [dirname(document), document, `${document}/segments`, segment, `${segment}/child_chunks`])
      for (const query of ['', '?keyword=text&limit=1&page=2'])
        requests.push(['GET', `${path}${query}`, { key: one.keys.knowledge }]);
    const adminPath = one.chunkPath.replace('/v1/', '/admin/');
    // From the documents down to the chunk: lists and single rows alternate.
    const parts = adminPath.split('/');
    const parentPaths = parts.map((_, at) => parts.slice(0, at + 1).join('/')).slice(4);
    for (const path of [...parentPaths, `${adminPath}/revisions`])
      for (const query of ['', '?limit=1']) requests.push(['GET', `${path}${query}`, { key: admin }]);
    requests.push(['PATCH', adminPath, { key: admin, body: { content: 'newest text' } }]);
    for (const key of [one.keys.knowledge, one.keys.app])
      requests.push(['GET', '/v1/workspaces/current/models/model-types/llm', { key }]);
    for (const [method, path, options] of requests) {
      const from = sent.length;
      const { status } = await service.request(method, path, options);
      assert.ok(status < 500, `${method} ${path}: ${status}`);
      if (method === 'GET') reads.push(...sent.slice(from));
    }
    operations = sent.slice(start);

    // Everything else: lists and writes that ask several shards, keys, export, console, audit log, purge.
    const created = await service.as(one.keys.knowledge).post(`${segment}/child_chunks`, { content: 'deleted' });
    const app = { key: one.keys.app };
    const others: [string, string, RequestOptions][] = [
      ['GET', '/v1/datasets?keyword=d', { key: one.keys.knowledge }],
      ['GET', `/v1/datasets/${one.ids.dataset}`, { key: one.keys.knowledge }],
      ['DELETE', `${segment}/child_chunks/${created.body.data.id}`, { key: one.keys.knowledge }],
      ['GET', '/v1/conversations?user=ann', app],
      ['GET', `/v1/conversations?last_id=${conversation}`, app],
      ['POST', `/v1/messages/${second.id}/feedbacks`, { ...app, body: { rating: 'like', user: 'ann' } }],
      ['POST', `/v1/conversations/${conversation}/name`, { ...app, body: { name: 'name' } }],
    ];
    for (const [method, path, options] of others) {
      const { status } = await service.request(method, path, options);
      assert.ok(status < 300, `${method} ${path}: ${status}`);
    }
    assert.equal((await service.request('GET', '/health/ready')).status, 200);
    assert.equal((await service.as(admin).get('/admin/records')).status, 200);
    await service.load([{ record: 'api_key', kind: 'admin', name: 'again', secret: makeSecret('admin') }]);
    const signedIn = await service.request('POST', '/console/session', { body: { key: admin } });
    assert.equal(signedIn.status, 200);
    const cookie = signedIn.headers['set-cookie']?.[0]?.split(';')[0];
    const withSession = { headers: { cookie, 'backscroll-console': '1' } };
    const activity = [`conversations?app_id=${one.ids.app}`, 'conversations', 'overview'];
    const workspacePath = `workspaces/${one.ids.workspace}`;
    const lists = [
      'workspaces',
      workspacePath,
      'apps',
      'datasets',
      `datasets/${one.ids.dataset}`,
      'keys',
      `${workspacePath}/model-providers`,
    ];
    for (const path of [...lists, ...activity])
      assert.equal((await service.request('GET', `/admin/${path}`, withSession)).status, 200);
    assert.equal((await service.request('DELETE', '/console/session', withSession)).status, 204);
    await service.store.run('trimSessions', 5);
    await service.store.listKeys();
    await service.store.run('noteKeyUse', [[one.keyIds.writer, 5]]);
    const filter = { before: 'z', from: 0, key_id: 'k', record_id: 'r', limit: 5 };
    assert.deepEqual((await service.store.listAudit(filter)).entries, []);
    assert.equal((await service.as(admin).get('/admin/activity')).status, 200);
    assert.equal(await service.store.trimAudit(5), 0);
    await service.store.run('revokeKey', { id: one.keyIds.writer, by: null, now: 5 });
    const message = `/admin/apps/${other.ids.app}/conversations/${other.ids.conversation}/messages/${one.ids.conversation}`;
    assert.equal((await service.as(admin).delete(message)).status, 404);
    assert.equal((await service.as(admin).get('/admin/retention')).status, 200);
    await purge(service.store, { conversation_id: other.ids.conversation }, { key_id: null, now: 5 });
    await purge(service.store, { app_id: other.ids.app, user: 'ann' }, { key_id: null, now: 5 });
    all.push(...sent);
    client = await connect(database.url);
  });
  after(async () => {
    await client?.end();
    await service?.close();
    await proxy?.close();
    await database?.remove();
  });

  const distinct = (sent: readonly Statement[]): Statement[] => [
    ...new Map(sent.map((one) => [one.text, one])).values(),
  ];

  it('are recorded for migrations, imports, operations, exports and purges', () => {
    const texts = all.map(({ text }) => text);
    for (const pattern of [
      /^CREATE TABLE messages/,
      /INSERT INTO leases/,
      /INSERT INTO messages/,
      /INSERT INTO child_chunk_revisions/,
      /LEFT JOIN LATERAL/,
      /conversation_id AS key_0, created_at AS key_1, sequence AS key_2/,
      /DELETE FROM messages/,
      /INSERT INTO conversation_days \(conversation_id, day, hour, currency, model_provider, model, app_id, messages, tokens, price_nanos, liked, disliked, failed\)\s+SELECT \* /,
      /SUM\(d\.messages\)/,
      /UPDATE api_keys/,
    ])
      assert.ok(
        texts.some((text) => pattern.test(text)),
        String(pattern),
      );
    assert.ok(distinct(operations).length >= 8, String(distinct(operations).length));
  });

  it('contain nothing that a distributed engine rejects', () => {
    for (const { text } of distinct(all)) if (!isOnOneNode(text)) assertAllowed(text);
  });

  it('contain nothing that a distributed engine rejects in the source code either', () => {
    const store = new URL('../../src/store/', import.meta.url);
    // What runs on one node, is recorded above with its parts, or has such a word in a text.
    const others = /^sqlite|^postgres.citus|create-change-tables|server.locks|server.search|seen-ids|changes.records/;
    const files = globSync('**/*.ts', { cwd: store }).filter((file) => !others.test(file));
    assert.ok(files.length > 50);
    for (const file of files) {
      const source = readFileSync(new URL(file, store), 'utf8');
      const code = source.replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*|^import [^;]*;$/gm, '');
      const quoted = code.match(/`[^`]*`|'[^'\n]*'/g) ?? [];
      for (const text of quoted) assertAllowed(text.slice(1, -1));
    }
  });

  it('call no volatile functions', async () => {
    const texts = all.map(({ text }) => text).filter((text) => !isOnOneNode(text));
    const words = [
      ...new Set(texts.flatMap((text) => [...text.matchAll(/\b([a-z_]\w*)\s*\(/gi)].map(([, name]) => name))),
    ];
    const { rows } = await client.query(
      `SELECT DISTINCT proname FROM pg_proc WHERE provolatile = 'v' AND proname = ANY($1)`,
      [words.map((word) => (word ?? '').toLowerCase())],
    );
    assert.deepEqual(rows, []);
  });

  for (const operation of ['GET /messages', 'PATCH and GET of a chunk'] as const) {
    const column = operation === 'GET /messages' ? 'conversation_id' : 'dataset_id';
    const ownStatements = () =>
      distinct(operations).filter(({ text }) => tableUsesIn(text).some(({ table }) => distributed[table] === column));

    it(`of ${operation} compare ${column} with a parameter for every table they use`, () => {
      assert.ok(ownStatements().length >= 2);
      const wrong = ownStatements().flatMap(({ text }) =>
        tableUsesIn(text)
          .filter(({ parameter }) => parameter === undefined)
          .map(({ table }) => `${table}: ${text.replaceAll(/\s+/g, ' ').trim()}`),
      );
      assert.deepEqual(wrong, []);
    });

    it(`of ${operation} use one shard: all parameters for ${column} have the same value`, () => {
      for (const { text, values } of ownStatements()) {
        const shardValues = tableUsesIn(text).flatMap(({ parameter }) =>
          parameter === undefined ? [] : [values[parameter - 1]],
        );
        assert.equal(new Set(shardValues).size, 1, text);
        const expected: string[] = column === 'conversation_id' ? [conversation] : [one.ids.dataset, other.ids.dataset];
        assert.ok(expected.includes(String(shardValues[0])), `${shardValues[0]}: ${text}`);
      }
    });

    it(`of ${operation} limit every scan of a distributed table to a parameter in the query plan`, async () => {
      let scans = 0;
      for (const { text } of ownStatements()) {
        const { rows } = await client.query(`EXPLAIN (GENERIC_PLAN, FORMAT JSON) ${text}`);
        for (const step of stepsOf(rows[0]['QUERY PLAN'][0].Plan)) {
          const by = distributed[step['Relation Name'] ?? ''];
          if (by === undefined || step['Node Type'] === 'ModifyTable') continue;
          scans += 1;
          const conditions = `${step['Index Cond'] ?? ''} ${step.Filter ?? ''} ${step['Recheck Cond'] ?? ''}`;
          assert.match(conditions, new RegExp(`\\b${by} = \\(?\\$\\d`), `${JSON.stringify(step)} of ${text}`);
        }
      }
      assert.ok(scans >= 4);
    });
  }

  it('of the operations never combine the two distribution columns', () => {
    for (const { text } of distinct(operations)) {
      // The scope of an audit entry or an outbox entry is the distribution value of the rows that it is about.
      const columns = new Set(tableUsesIn(text).map(({ table }) => distributed[table]));
      columns.delete('scope');
      assert.ok(columns.size <= 1, text);
    }
  });

  it('of the operations use no table of migrations and imports', () => {
    for (const { text } of distinct(operations)) for (const table of control) assert.ok(!text.includes(table), text);
  });

  it('of reads run outside of multi-statement transactions', () => {
    assert.ok(reads.length > 0);
    for (const { text } of reads) assert.match(text.trim(), /^(?:SELECT|WITH)\b/);
  });

  it('never change a distribution column', () => {
    for (const { text } of distinct(all))
      for (const [, table = '', sets = ''] of text.matchAll(
        /\b(?:UPDATE|INTO) ([a-z_]+)\b[\s\S]*?\bSET\b([\s\S]*?)(?:\bWHERE\b|\bFROM\b|\bRETURNING\b|$)/g,
      )) {
        const column = distributed[table];
        if (column !== undefined) assert.doesNotMatch(sets, new RegExp(`(?<![\\w.])${column}\\s*=`), text);
      }
  });
});

type Plan = Partial<Record<'Relation Name' | 'Index Cond' | 'Filter' | 'Recheck Cond', string>> & {
  'Node Type': string;
  Plans?: Plan[];
};
const stepsOf = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(stepsOf)];

describe('the Citus calls', () => {
  const calls = [
    `SELECT create_reference_table('leases')`,
    `SELECT create_reference_table('schema_migrations')`,
    `SELECT create_reference_table('workspaces')`,
    `SELECT create_reference_table('apps')`,
    `SELECT create_reference_table('api_keys')`,
    `SELECT create_reference_table('persons')`,
    `SELECT create_reference_table('datasets')`,
    `SELECT create_reference_table('model_providers')`,
    `SELECT create_reference_table('model_entries')`,
    `SELECT create_reference_table('console_sessions')`,
    `SELECT create_reference_table('service_values')`,
    `SELECT create_distributed_table('conversations', 'conversation_id', colocate_with => 'none')`,
    `SELECT create_distributed_table('messages', 'conversation_id', colocate_with => 'conversations')`,
    `SELECT create_distributed_table('conversation_days', 'conversation_id', colocate_with => 'conversations')`,
    `SELECT create_distributed_table('reviews', 'conversation_id', colocate_with => 'conversations')`,
    `SELECT create_distributed_table('item_appends', 'conversation_id', colocate_with => 'conversations')`,
    `SELECT create_distributed_table('tombstones', 'conversation_id', colocate_with => 'conversations')`,
    `SELECT create_distributed_table('documents', 'dataset_id', colocate_with => 'conversations')`,
    `SELECT create_distributed_table('segments', 'dataset_id', colocate_with => 'documents')`,
    `SELECT create_distributed_table('child_chunks', 'dataset_id', colocate_with => 'documents')`,
    `SELECT create_distributed_table('child_chunk_revisions', 'dataset_id', colocate_with => 'documents')`,
    `SELECT create_distributed_table('audit_entries', 'scope', colocate_with => 'conversations')`,
    `SELECT create_distributed_table('change_outbox', 'scope', colocate_with => 'audit_entries')`,
    `SELECT create_distributed_table('search_messages', 'conversation_id', colocate_with => 'conversations')`,
    `SELECT create_distributed_table('search_chunks', 'dataset_id', colocate_with => 'documents')`,
    `SELECT create_distributed_table('changes_head', NULL, colocate_with => 'none')`,
    `SELECT create_distributed_table('changes', NULL, colocate_with => 'changes_head')`,
    `SELECT create_distributed_table('import_sources', NULL, colocate_with => 'changes_head')`,
    `SELECT create_distributed_table('import_source_records', NULL, colocate_with => 'changes_head')`,
    `SELECT create_distributed_table('doubts', NULL, colocate_with => 'changes_head')`,
    `SELECT create_distributed_table('search_state', NULL, colocate_with => 'changes_head')`,
    `SELECT create_distributed_table('search_citations', NULL, colocate_with => 'changes_head')`,
    `SELECT create_distributed_table('user_totals', NULL, colocate_with => 'changes_head')`,
    `SELECT create_distributed_table('key_requests', NULL, colocate_with => 'changes_head')`,
    `SELECT create_distributed_table('audit_reads', NULL, colocate_with => 'changes_head')`,
    `SELECT create_distributed_table('jobs', NULL, colocate_with => 'changes_head')`,
  ];

  const truncate = (call: string) =>
    `SELECT truncate_local_data_after_distributing_table('${/table\('(\w+)'/.exec(call)?.[1]}')`;
  const steps = calls.map((call) => [call, truncate(call)]);
  const all = [...control, ...reference, ...Object.keys(distributed), ...single];
  const local = new Map(all.map((table) => [table, 'local' as const]));
  const withState = (state: 'copied' | 'distributed', tables: readonly string[]) =>
    new Map([...local, ...new Map(tables.map((table) => [table, state]))]);

  it('are ordered: reference tables first, then each table after the one it is colocated with', () => {
    assert.deepEqual(distributionSteps(local), steps);
  });

  it('leave out tables that do not exist yet', () => {
    assert.deepEqual(distributionSteps(new Map()), []);
    assert.deepEqual(distributionSteps(new Map([...local].slice(0, 2))), steps.slice(0, 2));
  });

  it('remove the rows from the coordinator with the call that has copied them', () => {
    assert.deepEqual(
      distributionSteps(withState('copied', ['messages'])).filter((step) => step.length === 1),
      [[`SELECT truncate_local_data_after_distributing_table('messages')`]],
    );
  });

  it('skip tables that are already distributed, and colocate the others with them', () => {
    const done = ['workspaces', 'conversations', 'documents', 'segments'];
    const remaining = steps.filter(([call]) => !done.some((table) => call?.includes(`table('${table}'`)));
    assert.deepEqual(distributionSteps(withState('distributed', done)), remaining);
    assert.deepEqual(distributionSteps(withState('distributed', all)), []);
  });
});

const layout = `
  SELECT logicalrelid::text AS table, partmethod AS method, partkey AS column, colocationid AS group
  FROM pg_dist_partition ORDER BY logicalrelid::text COLLATE "C"`;

describe('backscroll migrate --citus', () => {
  async function newDatabase(t: { after: (tidy: () => Promise<void>) => void }, withCitus: boolean) {
    const { url, remove } = await newDatabaseUrl('postgres');
    const client = await connect(url);
    t.after(async () => {
      await client.end();
      await remove();
    });
    const install = () => installFakeCitus(url);
    if (withCitus) await install();
    const cwd = await newFolder(t);
    const migrate = (...args: string[]) => call(['migrate', ...args], { cwd, env: { DATABASE_URL: url } });
    /** Migrates without starting a process. */
    const distribute = (citus: boolean) => databaseAt(url).migrate(1, { citus });
    const readLayout = async () => (await client.query(layout)).rows;
    return { client, install, migrate, distribute, readLayout };
  }
  const fullLayout = [
    ...[...control, ...reference].map((table) => ({ table, method: 'n', column: null, group: 0 })),
    ...Object.entries(distributed).map(([table, column]) => ({ table, method: 'h', column, group: 1 })),
    ...single.map((table) => ({ table, method: 'n', column: null, group: 2 })),
  ].sort((one, another) => (one.table < another.table ? -1 : 1));

  it('prints one clear line and exits with 1 without the extension, and does not block the next migration', async (t) => {
    const { migrate } = await newDatabase(t, false);
    for (const _ of ['on an empty database', 'on a migrated one']) {
      const { code, stderr } = await migrate('--citus');
      assert.equal(code, 1);
      assert.match(stderr, oneLine);
      assert.match(stderr, /extension citus/);
    }
    const plain = await migrate();
    assert.deepEqual([plain.code, plain.stderr], [0, '']);
    assert.match(plain.stdout, /up to date/);
  });

  it('distributes the tables if the extension exists, with and without the option', async (t) => {
    for (const args of [['--citus'], []]) {
      const { migrate, readLayout } = await newDatabase(t, true);
      const { code, stderr } = await migrate(...args);
      assert.deepEqual([code, stderr], [0, '']);
      assert.deepEqual(await readLayout(), fullLayout);
    }
  });

  it('does nothing when repeated, and completes a partial distribution', async (t) => {
    const { client, distribute, readLayout } = await newDatabase(t, true);
    await distribute(true);
    await distribute(true);
    assert.deepEqual(await readLayout(), fullLayout);
    await client.query(`DELETE FROM pg_dist_partition
      WHERE logicalrelid IN ('apps'::regclass, 'messages'::regclass, 'child_chunk_revisions'::regclass)`);
    // Without the option, as `serve` does it.
    await distribute(false);
    assert.deepEqual(await readLayout(), fullLayout);
  });

  it('distributes the tables of a database that was migrated before the extension was installed', async (t) => {
    const { install, distribute, readLayout } = await newDatabase(t, false);
    await distribute(false);
    await install();
    await distribute(false);
    assert.deepEqual(await readLayout(), []);
    await distribute(true);
    assert.deepEqual(await readLayout(), fullLayout);
  });

  it('reports which tables are left to distribute', async (t) => {
    const { client, migrate } = await newDatabase(t, true);
    await migrate();
    await client.query(`DELETE FROM pg_dist_partition WHERE logicalrelid = 'messages'::regclass`);
    assert.match((await migrate('--status')).stdout, /up to date\nto distribute: .*messages/);
  });

  it('prints one clear line on a worker node, and creates nothing there', async (t) => {
    const { client, migrate } = await newDatabase(t, true);
    await client.query('UPDATE pg_dist_local_group SET groupid = 1');
    for (const args of [[], ['--citus']]) {
      const { code, stderr } = await migrate(...args);
      assert.equal(code, 1);
      assert.match(stderr, oneLine);
      assert.match(stderr, /worker node of a Citus cluster.*coordinator/);
    }
    const { rows } = await client.query(`SELECT relname FROM pg_class WHERE relkind = 'r' AND relname !~ '^pg_'
      AND relnamespace = 'public'::regnamespace`);
    assert.deepEqual(rows, []);
  });

  it('prints one clear line on SQLite', async (t) => {
    const cwd = await newFolder(t);
    const { code, stderr } = await call(['migrate', '--citus'], { cwd, env: { DATABASE_URL: 'sqlite:test.db' } });
    assert.notEqual(code, 0);
    assert.match(stderr, oneLine);
  });
});
