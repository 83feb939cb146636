import assert from 'node:assert/strict';
import type { DatabaseSync } from 'node:sqlite';
import { after, before, describe, it } from 'node:test';
import type pg from 'pg';
import { findEntries } from '../../src/store/accounting/audit.ts';
import { adminReads } from '../../src/store/console/admin-reads.ts';
import {
  findApp,
  findDocument,
  findKey,
  findSegment,
  listPage,
  lists,
} from '../../src/store/console/admin-statements.ts';
import { deleteSession, findSession, insertSession } from '../../src/store/console/sessions.ts';
import { findPath } from '../../src/store/knowledge/path.ts';
import {
  type Dialect,
  describePlan,
  dialects,
  explain,
  isWasteful,
  numberParameters,
  openPostgres,
  openSqlite,
  planOf,
  type Reader,
  rowsRead,
  stepsOf,
} from '../support/plans.ts';

/** Among other rows, a knowledge base with many rows on every level. */
const rows = 5_000;
const fill = [
  `INSERT INTO workspaces (id, name) SELECT 'w1', 'n'`,
  `INSERT INTO datasets (id, workspace_id, name) SELECT 'd' || i, 'w1', 'n' || i FROM numbers WHERE i <= 20`,
  `INSERT INTO documents (dataset_id, id, name)
   SELECT 'd' || (i % 3), 'o' || i, 'name ' || (i % 100) FROM numbers`,
  `INSERT INTO segments (dataset_id, id, document_id, position, content)
   SELECT 'd' || (i % 3), 's' || i, 'o1', i % 100, 'text' FROM numbers`,
  `INSERT INTO child_chunks
     (dataset_id, id, segment_id, content, position, word_count, type, created_at, updated_at, version)
   SELECT 'd' || (i % 3), 'c' || i, 's1', 'text', i % 100, 1, 'automatic', 1, 1, 'v' FROM numbers`,
  `INSERT INTO child_chunk_revisions (dataset_id, child_chunk_id, revision, content, replaced_at)
   SELECT 'd1', 'c1', i, 'text', 1 FROM numbers`,
  `INSERT INTO api_keys (id, kind, name, digest, created_at) SELECT 'k' || i, 'admin', 'n', 'x' || i, i FROM numbers`,
  `INSERT INTO persons (id, issuer, subject, name, role) SELECT 'p' || i, 'i', 's' || i, 'n', 'viewer' FROM numbers`,
  `INSERT INTO audit_entries (id, scope, at, key_id, action, record, count, ids, document_id)
   SELECT 'e' || i, CASE WHEN i % 500 = 0 THEN 'd1' ELSE 'e' || i END, i, CASE WHEN i % 500 = 0 THEN 'k1' ELSE 'k2' END,
     CASE WHEN i % 500 = 0 THEN 'update' ELSE 'import' END, 'child_chunk', 1, '["c1"]',
     CASE WHEN i % 500 = 0 THEN 'o1' END FROM numbers`,
  `INSERT INTO console_sessions (digest, key_id, key_digest, created_at, expires_at)
   SELECT 'y' || i, 'k' || i, 'x' || i, 1, 9 FROM numbers`,
];
const numbers = `WITH RECURSIVE numbers(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM numbers WHERE i < ${rows})`;

type PlanCase = { text: string; values: (string | number)[]; reads: number };
const planCase = ([text, ...values]: readonly [string, ...unknown[]], reads: number): PlanCase => ({
  text,
  values: values as (string | number)[],
  reads,
});
/** Statements that read a large table or find one row, with the number of rows that they may read. */
const planCases: Record<string, PlanCase> = Object.fromEntries(
  (
    [
      ['documents', lists.documents, ['d1'], ['name 50', 'o1']],
      ['child chunks', lists.childChunks, ['d1', 's1'], [50, 'c1']],
      ['revisions', lists.revisions, ['d1', 'c1'], [2_500]],
      // The first of these segments has very many child chunks.
      ['segments', lists.segments, ['d1', 'd1', 'o1'], [50, 's1']],
    ] as const
  ).flatMap(([name, list, values, after]) => [
    [`${name}, the first page`, planCase(listPage(list, values, { after: undefined, count: 21 }), 42)],
    [`${name}, a page in the middle`, planCase(listPage(list, values, { after, count: 21 }), 42)],
  ]),
);
Object.assign(planCases, {
  path: planCase(findPath({ dataset_id: 'd1', document_id: 'o1', segment_id: 's1', child_chunk_id: 'c1' }), 4),
  app: planCase([findApp, 'a'], 2),
  document: planCase([findDocument, 'd1', 'o1'], 1),
  // This segment has very many child chunks.
  segment: planCase([findSegment, 'd1', 'd1', 'o1', 's1'], 1),
  key: planCase([findKey, 'k1'], 1),
  session: planCase([findSession, 2, 'y1', 2], 2),
  // Ten of the entries are of this key, action and document.
  'activity of a key': planCase(findEntries({ key_id: 'k1', limit: 20 }, undefined), 10),
  'activity of a kind': planCase(findEntries({ action: 'update', limit: 20 }, undefined), 10),
  'activity in a dataset': planCase(findEntries({ dataset_id: 'd1', limit: 20 }, undefined), 10),
  'activity in a document': planCase(findEntries({ dataset_id: 'd1', document_id: 'o1', limit: 20 }, undefined), 10),
  'activity, the newest': planCase(findEntries({ before: 'e9', limit: 20 }, undefined), 21),
  'activity without appends': planCase(findEntries({ before: 'e9', appends: 'hidden', limit: 20 }, undefined), 21),
  'the end of a session': planCase([deleteSession, 'y1'], 1),
});

/** The statements for a page of datasets. */
async function statementsForDatasets(dialect: Dialect, read: Reader): Promise<Parameters<Reader>[]> {
  const statements: Parameters<Reader>[] = [];
  const counted: Reader = (...statement) => {
    statements.push(statement);
    return read(...statement);
  };
  const page = await adminReads({ dialect, read: counted }).listDatasets({
    ...{ after: undefined, count: 20, since: 0, isWorst: false },
  });
  assert.equal(page.rows.length, 20);
  const { document_count, changed_at } = page.rows.find(({ id }) => id === 'd1') ?? {};
  assert.deepEqual([Number(document_count), changed_at], [Math.ceil(rows / 3), 5_000]);
  return statements;
}

describe('query plans of the console on SQLite', () => {
  let db: DatabaseSync;
  let read: Reader;
  let close: () => Promise<void>;
  before(async () => {
    ({ db, read, close } = await openSqlite());
    for (const statement of fill) db.exec(`${numbers} ${statement}`);
  });
  after(() => close?.());

  for (const [name, { text }] of Object.entries(planCases)) {
    it(`${name}: uses an index and does not sort`, () => {
      const plan = planOf(db, text);
      assert.ok(plan.length > 0);
      assert.deepEqual(plan.filter(isWasteful), [], plan.join('\n'));
    });
  }

  it('a page of datasets: three statements, which read documents, edits and citations from indexes', async () => {
    const statements = await statementsForDatasets(dialects.sqlite, read);
    assert.equal(statements.length, 3);
    const stepsOf = (at: number) =>
      planOf(db, statements[at]?.[0] ?? '').filter((step) => !step.startsWith('SCAN json_each'));
    const [plan, cited] = [stepsOf(1), stepsOf(2)];
    assert.deepEqual(plan.filter(isWasteful), [], plan.join('\n'));
    assert.deepEqual(cited.filter(isWasteful), [], cited.join('\n'));
    assert.ok(
      plan.some((step) => step.startsWith('SEARCH e USING INDEX audit_entries_by_dataset (scope=?)')),
      plan.join('\n'),
    );
  });

  it('writes a session', () => {
    assert.equal(db.prepare(insertSession).run('new', 'k1', 'x1', 1, 2).changes, 1);
  });
});

describe('query plans of the console on PostgreSQL', () => {
  let client: pg.Client;
  let read: Reader;
  let close: () => Promise<void>;
  before(async () => {
    ({ client, read, close } = await openPostgres());
    for (const statement of fill) await client.query(`${numbers} ${statement}`);
    // PostgreSQL scans small tables sequentially, whatever indexes they have.
    for (const table of ['workspaces', 'apps', 'datasets'])
      await client.query(
        `${numbers} INSERT INTO ${table} SELECT 'x' || i, 'w'${table === 'workspaces' ? '' : ", 'n'"}${table === 'apps' ? ", 'chat'" : ''} FROM numbers`,
      );
    await client.query('VACUUM ANALYZE');
  });
  after(() => close?.());

  for (const [name, { text, values, reads }] of Object.entries(planCases)) {
    it(`${name}: uses an index and reads only the rows it needs`, async () => {
      const plan = await explain(client, numberParameters(text), values);
      assert.ok(!stepsOf(plan).some((step) => /Seq Scan|Sort/.test(step['Node Type'])), describePlan(plan));
      // Counting the child chunks of a segment reads all of them, from the index.
      const found = rowsRead(plan, (step) => step['Node Type'] !== 'Index Only Scan');
      assert.ok(found <= reads, `${found} rows read: ${describePlan(plan)}`);
    });
  }

  it('a page of datasets: three statements, and the newest edit of each dataset is read', async () => {
    const statements = await statementsForDatasets(dialects.postgres, read);
    assert.equal(statements.length, 3);
    const [text = '', ...values] = statements[1] ?? [];
    const plan = await explain(client, numberParameters(text), values);
    assert.ok(rowsRead(plan, (step) => /^e(_\d)?$/.test(step.Alias ?? '')) <= 4, describePlan(plan));
  });
});
