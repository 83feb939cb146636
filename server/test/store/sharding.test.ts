import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import pg from 'pg';
import { readConfig } from '../../src/config.ts';
import { makeSecret } from '../../src/domain/secret.ts';
import { databaseOf } from '../../src/store/open.ts';
import { citusStatements } from '../../src/store/postgres/migrate.ts';
import { distribution } from '../../src/store/schema/schema.ts';
import { newFolder, oneLine, run } from '../support/cli-helpers.ts';
import {
  makeTwoTenants,
  message,
  newDatabaseUrl,
  type RequestOptions,
  type Service,
  startService,
} from '../support/harness.ts';
import { openPostgres } from '../support/plans.ts';

/**
 * The rules that allow the tables to be distributed over several machines, checked against the catalog of a migrated database and
 * against what the service really sends.
 */

const distributed: Readonly<Record<string, string>> = distribution.distributed;
const reference: readonly string[] = distribution.reference;
/** On the coordinator alone: what migrations and imports lock. */
const local = ['schema_migrations', 'leases'];

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client(url);
  await client.connect();
  return client;
}

describe('the catalog', () => {
  let client: pg.Client;
  let close: () => Promise<void>;
  before(async () => {
    ({ client, close } = await openPostgres());
  });
  after(() => close?.());

  const ours = `relnamespace NOT IN (SELECT oid FROM pg_namespace WHERE nspname ~ '^pg_' OR nspname = 'information_schema')`;
  // biome-ignore lint/suspicious/noExplicitAny: rows of the catalog
  const select = async (text: string): Promise<any[]> => (await client.query(text)).rows;

  it('has the distributed, reference and local tables, and no others', async () => {
    const rows = await select(`SELECT relname FROM pg_class WHERE relkind IN ('r', 'p') AND ${ours} ORDER BY relname`);
    const placed = [...reference, ...Object.keys(distributed), ...local];
    assert.equal(new Set(placed).size, placed.length);
    assert.deepEqual(
      rows.map(({ relname }) => relname),
      placed.sort(),
    );
  });

  it('distributes by the columns that were decided', () => {
    const of = (column: string) => Object.keys(distributed).filter((table) => distributed[table] === column);
    assert.deepEqual(of('conversation_id').sort(), ['conversation_days', 'conversations', 'messages']);
    const ofDatasets = ['audit_entries', 'child_chunk_revisions', 'child_chunks', 'documents', 'segments'];
    assert.deepEqual(of('dataset_id').sort(), ofDatasets);
    assert.equal(Object.keys(distributed).length, 8);
  });

  const keys = () =>
    select(`
      SELECT t.relname AS table, i.relname AS index, x.indisprimary AS is_primary, x.indpred IS NULL AS is_whole,
        ARRAY(SELECT coalesce(a.attname::text, '(expression)') FROM unnest(x.indkey::int[]) WITH ORDINALITY k(attnum, at)
          LEFT JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = k.attnum AND k.attnum > 0
          WHERE k.at <= x.indnkeyatts ORDER BY k.at) AS columns
      FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid JOIN pg_class t ON t.oid = x.indrelid
      WHERE x.indisunique AND t.${ours}`);

  it("has the distribution column in every unique index, and at the head of every primary key but the audit's", async () => {
    const found = (await keys()).filter(({ table }) => table in distributed);
    assert.ok(found.length >= 7);
    for (const { table, index, is_primary, is_whole, columns } of found) {
      const column = distributed[table] ?? '';
      assert.ok(columns.includes(column), `${index} of ${table} lacks ${column}`);
      assert.ok(is_whole && !columns.includes('(expression)'), index);
      // The audit is written and read by time.
      if (is_primary && table !== 'audit_entries') assert.equal(columns[0], column, `${index} of ${table}`);
    }
  });

  it('has a primary key on every table', async () => {
    const primary = (await keys()).filter(({ is_primary }) => is_primary).map(({ table }) => table);
    assert.deepEqual(primary.sort(), [...reference, ...Object.keys(distributed), ...local].sort());
  });

  it('has the same type for the distribution columns of one group, and never null in them', async () => {
    const rows = await select(`
      SELECT c.relname AS table, a.attname AS column, a.attnotnull, format_type(a.atttypid, a.atttypmod) AS type, l.collname
      FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid LEFT JOIN pg_collation l ON l.oid = a.attcollation
      WHERE c.relkind = 'r' AND c.${ours}`);
    for (const [table, column] of Object.entries(distributed)) {
      const found = rows.find((row) => row.table === table && row.column === column);
      assert.deepEqual([found?.attnotnull, found?.type, found?.collname], [true, 'text', 'C'], `${table}.${column}`);
    }
  });

  it('compares every text by its bytes', async () => {
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
    // An older program writes conversations without it.
    'column defaults but one constant': `SELECT adrelid::regclass, pg_get_expr(adbin, adrelid) FROM pg_attrdef
      WHERE (adrelid::regclass::text, pg_get_expr(adbin, adrelid)) NOT IN (('conversations', '0'), ('conversations', '''0''::bigint'))`,
    triggers: 'SELECT tgname FROM pg_trigger',
    'rules or policies': `SELECT ev_class::regclass::text FROM pg_rewrite
      WHERE ev_class IN (SELECT oid FROM pg_class WHERE ${ours}) UNION ALL SELECT polname::text FROM pg_policy`,
    'functions of its own': `SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace`,
    extensions: `SELECT extname FROM pg_extension WHERE extname <> 'plpgsql'`,
    'inheritance or partitions': 'SELECT inhrelid::regclass FROM pg_inherits',
  };
  for (const [what, text] of Object.entries(absent))
    it(`has no ${what}`, async () => assert.deepEqual(await select(text), []));
});

/** What no statement may contain, since a distributed engine rejects it or does something else. */
const banned: Record<string, RegExp> = {
  'a volatile function':
    /\b(?:random|now|clock_timestamp|statement_timestamp|transaction_timestamp|timeofday|gen_random_uuid|uuidv[47]|uuid_generate_v\d|nextval|currval|setval|lastval|txid_current|pg_sleep)\s*\(/i,
  'the time of the database': /\bCURRENT_(?:TIME|DATE|TIMESTAMP)\b|\bLOCALTIME/i,
  'an advisory lock': /pg_(?:try_)?advisory/i,
  'LISTEN or NOTIFY': /\b(?:UN)?LISTEN\b|\bNOTIFY\b|pg_notify/i,
  'a savepoint': /\bSAVEPOINT\b|\bRELEASE\b|\bROLLBACK TO\b/i,
  'a setting of the session': /^\s*(?:RESET|DISCARD)\b|^\s*SET\b|\bset_config\s*\(|;\s*SET\b/i,
  'a temporary table': /\b(?:TEMP|TEMPORARY|UNLOGGED)\b/i,
  'a foreign key': /\bREFERENCES\b|\bFOREIGN KEY\b/i,
  'a sequence or identity column': /\bSERIAL\b|\bBIGSERIAL\b|\bGENERATED\b|\bIDENTITY\b|\bCREATE SEQUENCE\b/i,
  'a trigger, rule or function': /\bTRIGGER\b|\bCREATE (?:OR REPLACE )?(?:RULE|FUNCTION|PROCEDURE)\b|^\s*DO\b/i,
  'a row or table lock': /\bFOR (?:NO KEY )?(?:UPDATE|SHARE)\b|\bFOR KEY SHARE\b|\bLOCK TABLE\b/i,
};

function assertAllowed(text: string): void {
  for (const [what, pattern] of Object.entries(banned)) assert.doesNotMatch(text, pattern, `${what}: ${text}`);
}

type Sent = { text: string; values: unknown[] };

/** Everything that any client in this process sends, from now until it is ended. */
function listen(): { sent: Sent[]; end: () => void } {
  const sent: Sent[] = [];
  const { query } = pg.Client.prototype;
  function tapped(this: pg.Client, ...given: unknown[]): unknown {
    const [statement, values] = given as [string | { text: string; values?: unknown[] }, unknown[] | undefined];
    sent.push(
      typeof statement === 'string'
        ? { text: statement, values: values ?? [] }
        : { text: statement.text, values: statement.values ?? [] },
    );
    return (query as (...all: unknown[]) => unknown).apply(this, given);
  }
  Object.assign(pg.Client.prototype, { query: tapped });
  return { sent, end: () => void Object.assign(pg.Client.prototype, { query }) };
}

/** The text from the mention of a table to the end of the parenthesis around it. */
function scopeAt(text: string, at: number): string {
  let depth = 0;
  for (let end = at; end < text.length; end += 1) {
    if (text[end] === '(') depth += 1;
    if (text[end] === ')') depth -= 1;
    if (depth < 0) return text.slice(at, end);
  }
  return text.slice(at);
}

type Named = { table: string; parameter: number | undefined };

/** Every mention of a distributed table, with the parameter that its distribution column is equal to. */
function namedIn(text: string): Named[] {
  const words = 'ON|SET|WHERE|LEFT|INNER|JOIN|CROSS|ORDER|GROUP|LIMIT|VALUES|SELECT|RETURNING|AS';
  const mention = new RegExp(`\\b(FROM|JOIN|INTO|UPDATE|,)\\s+([a-z_]+)\\b(?:\\s+(?!(?:${words})\\b)([a-z_]+))?`, 'g');
  return [...text.matchAll(mention)]
    .flatMap(([, verb, table = '', alias]) => {
      const column = distributed[table];
      return column === undefined ? [] : [{ verb, table, alias, column }];
    })
    .map(({ verb, table, alias, column }) => {
      const start = text.search(new RegExp(`\\b${verb}\\s+${table}\\b${alias ? `\\s+${alias}\\b` : ''}`));
      const scope = scopeAt(text, start);
      let found: RegExpExecArray | null;
      if (verb === 'INTO') {
        const columns =
          /\(([^)]*)\)/
            .exec(scope)?.[1]
            ?.split(',')
            .map((one) => one.trim()) ?? [];
        const given = /\)\s*(?:SELECT|VALUES\s*\()\s*([\s\S]*)/.exec(scope)?.[1]?.split(',') ?? [];
        found = /^\s*\$(\d+)(?:::text)?\s*(?:FROM\b|\)|$)/.exec(given[columns.indexOf(column)] ?? '');
      } else if (alias !== undefined) {
        found = new RegExp(`(?<![\\w.])${alias}\\.${column} = \\$(\\d+)`).exec(scope);
      } else {
        found = new RegExp(`(?<![\\w.])(?:${table}\\.)?${column} = \\$(\\d+)`).exec(scope);
      }
      return { table, parameter: found === null ? undefined : Number(found[1]) };
    });
}

describe('the reading of statements', () => {
  it('finds the parameter of each table', () => {
    const table = 'messages';
    assert.deepEqual(namedIn('SELECT 1 FROM messages m WHERE m.conversation_id = $2'), [{ table, parameter: 2 }]);
    assert.deepEqual(namedIn('SELECT (SELECT 1 FROM messages WHERE conversation_id = $1)'), [{ table, parameter: 1 }]);
    assert.deepEqual(namedIn('SELECT (SELECT 1 FROM messages) WHERE conversation_id = $1'), [
      { table, parameter: undefined },
    ]);
    assert.deepEqual(namedIn('SELECT 1 FROM messages m WHERE m.conversation_id = c.conversation_id'), [
      { table, parameter: undefined },
    ]);
    assert.deepEqual(namedIn('INSERT INTO messages (id, conversation_id) SELECT $1, $2 FROM x'), [
      { table, parameter: 2 },
    ]);
    assert.deepEqual(namedIn('INSERT INTO messages (id, conversation_id) SELECT $1, x.c FROM x'), [
      { table, parameter: undefined },
    ]);
    assert.deepEqual(namedIn('UPDATE messages SET doc = $1 WHERE id = $2'), [{ table, parameter: undefined }]);
    assert.deepEqual(namedIn('SELECT 1 FROM apps a'), []);
  });

  it('sees what is banned', () => {
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
  const wire = listen();
  const all: Sent[] = [];
  let operations: Sent[] = [];
  const { one, other, admin, records } = makeTwoTenants();
  const conversation = one.ids.conversation;
  const first = message(conversation, 1);
  const second = message(conversation, 2);

  before(async () => {
    service = await startService('postgres');
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

    const start = wire.sent.length;
    const page = `/v1/messages?conversation_id=${conversation}`;
    const requests: [string, string, RequestOptions][] = [];
    for (const user of ['', '&user=ann'])
      for (const before of ['', `&first_id=${second.id}`])
        for (const headers of [{}, { 'if-none-match': '"other"' }])
          requests.push(['GET', `${page}${user}${before}`, { key: one.keys.app, headers }]);
    const etag = (await service.request('GET', page, { key: one.keys.app })).headers.etag ?? '';
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
    const inAdmin = one.chunkPath.replace('/v1/', '/admin/');
    // From the dataset down to the chunk, rows and lists by turns.
    const parts = inAdmin.split('/');
    const inSpace = parts.map((_, at) => parts.slice(0, at + 1).join('/')).slice(3);
    for (const path of [...inSpace, `${inAdmin}/revisions`])
      for (const query of ['', '?limit=1']) requests.push(['GET', `${path}${query}`, { key: admin }]);
    requests.push(['PATCH', inAdmin, { key: admin, body: { content: 'newest text' } }]);
    for (const key of [one.keys.knowledge, one.keys.app])
      requests.push(['GET', '/v1/workspaces/current/models/model-types/llm', { key }]);
    for (const [method, path, options] of requests) {
      const { status } = await service.request(method, path, options);
      assert.ok(status < 500, `${method} ${path}: ${status}`);
    }
    operations = wire.sent.slice(start);

    // The rest of a life: keys, export, erasure.
    assert.equal((await service.request('GET', '/health/ready')).status, 200);
    assert.equal((await service.request('GET', '/admin/records', { key: admin })).status, 200);
    await service.load([{ record: 'api_key', kind: 'admin', name: 'again', secret: makeSecret('admin') }]);
    const signedIn = await service.request('POST', '/console/session', { body: { key: admin } });
    assert.equal(signedIn.status, 200);
    const cookie = signedIn.headers['set-cookie']?.[0]?.split(';')[0];
    const ofSession = { headers: { cookie, 'backscroll-console': '1' } };
    const activity = [`apps/${one.ids.app}/conversations`, `apps/${one.ids.app}/conversations?search=ann`, 'usage'];
    const inSpaces = `workspaces/${one.ids.workspace}`;
    const lists = ['workspaces', inSpaces, 'apps', 'datasets', 'keys', `${inSpaces}/model-providers`];
    for (const path of [...lists, ...activity])
      assert.equal((await service.request('GET', `/admin/${path}`, ofSession)).status, 200);
    assert.equal((await service.request('DELETE', '/console/session', ofSession)).status, 204);
    await service.store.sessions.trim(5);
    await service.store.listKeys();
    await service.store.noteKeyUse(new Map([[one.keyIds.writer, 5]]));
    const auditQuery = { before: 'z', since: 0, key_id: 'k', record_id: 'r', limit: 5 };
    assert.deepEqual(await service.store.listAudit(auditQuery), []);
    assert.equal(await service.store.trimAudit(5), 0);
    await service.store.revokeKey(one.keyIds.writer, null, 5);
    await service.store.countConversations({ conversation_id: other.ids.conversation });
    await service.store.purge({ conversation_id: other.ids.conversation }, 5);
    await service.store.purge({ app_id: other.ids.app, user: 'ann' }, 5);
    all.push(...wire.sent);
    wire.end();
    client = await connect(service.config.database_url);
  });
  after(async () => {
    wire.end();
    await client?.end();
    await service?.close();
  });

  const distinct = (sent: readonly Sent[]): Sent[] => [...new Map(sent.map((one) => [one.text, one])).values()];

  it('are seen: of migrations, imports, operations, exports and erasures', () => {
    const texts = all.map(({ text }) => text);
    for (const pattern of [
      /^CREATE TABLE messages/,
      /INSERT INTO leases/,
      /INSERT INTO messages/,
      /INSERT INTO child_chunk_revisions/,
      /LEFT JOIN LATERAL/,
      /DECLARE export/,
      /DELETE FROM messages/,
      /INSERT INTO conversation_days \(conversation_id, day, currency, app_id, messages, tokens, price_nanos\)\s+SELECT \* /,
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
    for (const { text } of distinct(all)) assertAllowed(text);
  });

  it('contain nothing of that in the source either', () => {
    const files = [
      'schema/schema',
      'schema/usage-step',
      'statements',
      'console/admin-statements',
      'console/activity-statements',
      'console/session-statements',
      'accounting/usage-statements',
      'accounting/audit',
      'records/tables',
      'records/upserts',
      'records/lookups',
      'records/export',
      'postgres/statements',
      'postgres/engine',
      'postgres/record-writer',
      'postgres/apply-records',
      'postgres/pool',
      'postgres/migrate',
    ];
    for (const file of files) {
      const source = readFileSync(new URL(`../../src/store/${file}.ts`, import.meta.url), 'utf8');
      const code = source.replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*|^import [^;]*;$/gm, '');
      const quoted = code.match(/`[^`]*`|'[^'\n]*'/g) ?? [];
      assert.ok(quoted.length > 0);
      for (const text of quoted) assertAllowed(text.slice(1, -1));
    }
  });

  it('call functions that give the same for the same alone', async () => {
    const words = [
      ...new Set(all.flatMap(({ text }) => [...text.matchAll(/\b([a-z_]\w*)\s*\(/gi)].map(([, name]) => name))),
    ];
    const { rows } = await client.query(
      `SELECT DISTINCT proname FROM pg_proc WHERE provolatile = 'v' AND proname = ANY($1)`,
      [words.map((word) => (word ?? '').toLowerCase())],
    );
    assert.deepEqual(rows, []);
  });

  for (const operation of ['GET /messages', 'PATCH and GET of a chunk'] as const) {
    const column = operation === 'GET /messages' ? 'conversation_id' : 'dataset_id';
    const mine = () =>
      distinct(operations).filter(({ text }) => namedIn(text).some(({ table }) => distributed[table] === column));

    it(`of ${operation} name ${column} by a parameter for every table they touch`, () => {
      assert.ok(mine().length >= 2);
      const wrong = mine().flatMap(({ text }) =>
        namedIn(text)
          .filter(({ parameter }) => parameter === undefined)
          .map(({ table }) => `${table}: ${text.replaceAll(/\s+/g, ' ').trim()}`),
      );
      assert.deepEqual(wrong, []);
    });

    it(`of ${operation} go to one shard: all parameters that name ${column} are the same value`, () => {
      for (const { text, values } of mine()) {
        const named = namedIn(text).flatMap(({ parameter }) =>
          parameter === undefined ? [] : [values[parameter - 1]],
        );
        assert.equal(new Set(named).size, 1, text);
        const expected: string[] = column === 'conversation_id' ? [conversation] : [one.ids.dataset, other.ids.dataset];
        assert.ok(expected.includes(String(named[0])), `${named[0]}: ${text}`);
      }
    });

    it(`of ${operation} are planned so: every scan of a distributed table is limited by a parameter`, async () => {
      let scans = 0;
      for (const { text } of mine()) {
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

  it('of the operations never mix the two distribution columns', () => {
    for (const { text } of distinct(operations)) {
      const columns = new Set(namedIn(text).map(({ table }) => distributed[table]));
      assert.ok(columns.size <= 1, text);
    }
  });

  it('of the operations touch no local table', () => {
    for (const { text } of distinct(operations)) for (const table of local) assert.ok(!text.includes(table), text);
  });

  it('of the operations run by themselves, in no transaction of several', () => {
    for (const { text } of operations) assert.match(text.trim(), /^(?:SELECT|WITH)\b/);
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

describe('the calls to Citus', () => {
  const calls = [
    `SELECT create_reference_table('workspaces')`,
    `SELECT create_reference_table('apps')`,
    `SELECT create_reference_table('api_keys')`,
    `SELECT create_reference_table('datasets')`,
    `SELECT create_reference_table('model_providers')`,
    `SELECT create_reference_table('model_entries')`,
    `SELECT create_reference_table('console_sessions')`,
    `SELECT create_distributed_table('conversations', 'conversation_id', colocate_with => 'none')`,
    `SELECT create_distributed_table('messages', 'conversation_id', colocate_with => 'conversations')`,
    `SELECT create_distributed_table('conversation_days', 'conversation_id', colocate_with => 'conversations')`,
    `SELECT create_distributed_table('documents', 'dataset_id', colocate_with => 'none')`,
    `SELECT create_distributed_table('segments', 'dataset_id', colocate_with => 'documents')`,
    `SELECT create_distributed_table('child_chunks', 'dataset_id', colocate_with => 'documents')`,
    `SELECT create_distributed_table('child_chunk_revisions', 'dataset_id', colocate_with => 'documents')`,
    `SELECT create_distributed_table('audit_entries', 'dataset_id', colocate_with => 'documents')`,
  ];

  it('come in order: reference tables, then each group behind the table it is colocated with', () => {
    assert.deepEqual(citusStatements(), calls);
  });

  it('leave out distributed tables, and still colocate the rest with them', () => {
    const done = ['workspaces', 'conversations', 'documents', 'segments'];
    const left = calls.filter((call) => !done.some((table) => call.includes(`table('${table}'`)));
    assert.deepEqual(
      citusStatements((table) => done.includes(table)),
      left,
    );
    assert.deepEqual(
      citusStatements(() => true),
      [],
    );
  });
});

/**
 * Stands in for the extension: its name in the catalog, its table of what is laid out, and its two functions with the
 * rules that they enforce. It moves no rows.
 */
const standIn = [
  `INSERT INTO pg_extension (oid, extname, extowner, extnamespace, extrelocatable, extversion)
   SELECT 99999, 'citus', oid, 'public'::regnamespace, false, '13.0-1' FROM pg_roles WHERE rolname = current_user`,
  `CREATE TABLE pg_dist_partition (
     logicalrelid regclass PRIMARY KEY, partmethod text, partkey text, colocationid int, at int GENERATED ALWAYS AS IDENTITY
   )`,
  `CREATE FUNCTION create_reference_table(table_name regclass) RETURNS void LANGUAGE sql AS
   $$ INSERT INTO pg_dist_partition VALUES (table_name, 'n', NULL, 0) $$`,
  `CREATE FUNCTION create_distributed_table(table_name regclass, distribution_column text,
     distribution_type text DEFAULT 'hash', colocate_with text DEFAULT 'default', shard_count int DEFAULT NULL)
   RETURNS void LANGUAGE plpgsql AS $$
   DECLARE
     place int2 := (SELECT attnum FROM pg_attribute WHERE attrelid = table_name AND attname = distribution_column);
     beside pg_dist_partition;
   BEGIN
     IF place IS NULL THEN RAISE 'column % does not exist', distribution_column; END IF;
     IF EXISTS (SELECT FROM pg_index WHERE indrelid = table_name AND indisunique AND NOT place = ANY(indkey::int2[])) THEN
       RAISE 'cannot create constraint on % that does not include the distribution column', table_name;
     END IF;
     IF EXISTS (SELECT FROM pg_constraint WHERE conrelid = table_name AND contype IN ('f', 'x')) THEN
       RAISE 'foreign keys are not supported';
     END IF;
     IF EXISTS (SELECT FROM pg_trigger WHERE tgrelid = table_name) THEN RAISE 'triggers are not supported'; END IF;
     IF colocate_with = 'none' THEN
       INSERT INTO pg_dist_partition
       SELECT table_name, 'h', distribution_column, 1 + coalesce(max(colocationid), 0) FROM pg_dist_partition;
     ELSE
       SELECT * INTO beside FROM pg_dist_partition WHERE logicalrelid = colocate_with::regclass AND partmethod = 'h';
       IF beside IS NULL THEN RAISE 'relation % is not distributed', colocate_with; END IF;
       INSERT INTO pg_dist_partition VALUES (table_name, 'h', distribution_column, beside.colocationid);
     END IF;
   END $$`,
];
const layout = `
  SELECT logicalrelid::text AS table, partmethod AS method, partkey AS column, colocationid AS group
  FROM pg_dist_partition ORDER BY at`;

describe('backscroll migrate --citus', () => {
  async function newDatabase(t: { after: (tidy: () => Promise<void>) => void }, withCitus: boolean) {
    const { url, remove } = await newDatabaseUrl('postgres');
    const client = await connect(url);
    t.after(async () => {
      await client.end();
      await remove();
    });
    const install = async () => {
      for (const statement of standIn) await client.query(statement);
    };
    if (withCitus) await install();
    const cwd = await newFolder(t);
    const migrate = (...args: string[]) => run(['migrate', ...args], { cwd, env: { DATABASE_URL: url } });
    /** The same without a process of its own. */
    const distribute = (citus: boolean) => databaseOf(readConfig({ DATABASE_URL: url })).migrate(1, { citus });
    const laidOut = async () => (await client.query(layout)).rows;
    return { client, install, migrate, distribute, laidOut };
  }
  const group = (table: string) => (distributed[table] === 'conversation_id' ? 1 : 2);
  const whole = [
    ...reference.map((table) => ({ table, method: 'n', column: null, group: 0 })),
    ...Object.entries(distributed).map(([table, column]) => ({ table, method: 'h', column, group: group(table) })),
  ];

  it('without the extension: one clear line, exit code 1, and the next one need not wait', async (t) => {
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

  it('with a stand-in for the extension: migrating distributes, with and without the option', async (t) => {
    for (const args of [['--citus'], []]) {
      const { migrate, laidOut } = await newDatabase(t, true);
      const { code, stderr } = await migrate(...args);
      assert.deepEqual([code, stderr], [0, '']);
      assert.deepEqual(await laidOut(), whole);
    }
  });

  it('again: nothing more; done in part: the rest', async (t) => {
    const { client, distribute, laidOut } = await newDatabase(t, true);
    await distribute(true);
    await distribute(true);
    assert.deepEqual(await laidOut(), whole);
    await client.query(`DELETE FROM pg_dist_partition
      WHERE logicalrelid IN ('apps'::regclass, 'messages'::regclass, 'child_chunk_revisions'::regclass)`);
    await distribute(true);
    const byTable = (one: { table: string }, another: { table: string }) => (one.table < another.table ? -1 : 1);
    assert.deepEqual((await laidOut()).sort(byTable), whole.toSorted(byTable));
  });

  it('on a database that was migrated before the extension came: distributes', async (t) => {
    const { install, distribute, laidOut } = await newDatabase(t, false);
    await distribute(false);
    await install();
    await distribute(true);
    assert.deepEqual(await laidOut(), whole);
  });

  it('on SQLite: one clear line, not silence', async (t) => {
    const cwd = await newFolder(t);
    const { code, stderr } = await run(['migrate', '--citus'], { cwd, env: { DATABASE_URL: 'sqlite:test.db' } });
    assert.notEqual(code, 0);
    assert.match(stderr, oneLine);
  });
});
