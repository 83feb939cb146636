import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, it } from 'node:test';
import pg from 'pg';
import { readConfig } from '../src/config.ts';
import {
  findApp,
  findDataset,
  findDocument,
  findKey,
  findKnowledge,
  findSegment,
  knowledgeValues,
  lists,
  page,
} from '../src/store/admin-statements.ts';
import { databaseOf } from '../src/store/open.ts';
import { changeSession, findSession } from '../src/store/session-statements.ts';
import { newDatabaseUrl } from './harness.ts';

/** A knowledge base whose every level is long, among others. */
const rows = 5_000;
const fill = [
  `INSERT INTO documents (dataset_id, id, name)
   SELECT 'd' || i % 3, 'o' || i, 'name ' || i % 100 FROM numbers`,
  `INSERT INTO segments (dataset_id, id, document_id, position, content)
   SELECT 'd' || i % 3, 's' || i, 'o1', i % 100, 'text' FROM numbers`,
  `INSERT INTO child_chunks
     (dataset_id, id, segment_id, content, position, word_count, type, created_at, updated_at, version)
   SELECT 'd' || i % 3, 'c' || i, 's1', 'text', i % 100, 1, 'automatic', 1, 1, 'v' FROM numbers`,
  `INSERT INTO child_chunk_revisions (dataset_id, child_chunk_id, revision, content, replaced_at)
   SELECT 'd1', 'c1', i, 'text', 1 FROM numbers`,
  `INSERT INTO api_keys (id, kind, name, digest, created_at) SELECT 'k' || i, 'admin', 'n', 'x' || i, i FROM numbers`,
  `INSERT INTO console_sessions (digest, key_id, key_digest, created_at, expires_at)
   SELECT 'y' || i, 'k' || i, 'x' || i, 1, 9 FROM numbers`,
];
const numbers = `WITH RECURSIVE numbers(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM numbers WHERE i < ${rows})`;

const session = { digest: 'y1', key_id: 'k1', key_digest: 'x1', created_at: 1, expires_at: 9 };
type Question = { text: string; values: (string | number)[]; reads: number };
const question = ([text, ...values]: [string, ...unknown[]], reads: number): Question => ({
  text,
  values: values as (string | number)[],
  reads,
});
/** What reads a large table, or finds one row, and how many rows it may read. Lists begin in the middle too. */
const questions: Record<string, Question> = Object.fromEntries(
  (
    [
      ['documents', lists.documents, ['d1'], ['name 50', 'o1']],
      ['child chunks', lists.childChunks, ['d1', 's1'], [50, 'c1']],
      ['revisions', lists.revisions, ['d1', 'c1'], [2_500]],
      // Of which the first has very many child chunks.
      ['segments', lists.segments, ['d1', 'd1', 'o1'], [50, 's1']],
    ] as const
  ).flatMap(([name, list, values, after]) => [
    [`${name}, the first page`, question(page(list, values, { after: undefined, count: 21 }), 42)],
    [`${name}, a page in the middle`, question(page(list, values, { after, count: 21 }), 42)],
  ]),
);
Object.assign(questions, {
  path: question(
    [
      findKnowledge,
      ...knowledgeValues({ dataset_id: 'd1', document_id: 'o1', segment_id: 's1', child_chunk_id: 'c1' }),
    ],
    4,
  ),
  app: question([findApp, 'a'], 2),
  dataset: question([findDataset, 'd1'], 2),
  document: question([findDocument, 'd1', 'o1'], 1),
  // One with very many child chunks.
  segment: question([findSegment, 'd1', 'd1', 'o1', 's1'], 1),
  key: question([findKey, 'k1'], 1),
  session: question([findSession, 'y1', 2, 2], 2),
  'the end of a session': question(changeSession({ end: 'y1' }), 1),
});

describe('plans of the console on SQLite', () => {
  let db: DatabaseSync;
  let remove: () => Promise<void>;
  before(async () => {
    const database = await newDatabaseUrl('sqlite');
    remove = database.remove;
    await databaseOf(readConfig({ DATABASE_URL: database.url })).migrate(1);
    db = new DatabaseSync(database.url.replace('sqlite:', ''));
    for (const statement of fill) db.exec(`PRAGMA synchronous = OFF; ${numbers} ${statement}`);
  });
  after(async () => {
    db?.close();
    await remove?.();
  });

  for (const [name, { text, values }] of Object.entries(questions)) {
    it(`${name}: by an index, without sorting`, () => {
      const plan = db
        .prepare(`EXPLAIN QUERY PLAN ${text}`)
        .all(...values)
        .map(({ detail }) => String(detail));
      assert.ok(plan.length > 0);
      assert.deepEqual(
        plan.filter((step) => /^SCAN|TEMP B-TREE|AUTOMATIC/.test(step)),
        [],
        plan.join('\n'),
      );
    });
  }

  it('a session can be written', () => {
    const [text, ...values] = changeSession({ open: { ...session, digest: 'new' } });
    assert.equal(db.prepare(text).run(...values).changes, 1);
  });
});

type Plan = { 'Node Type': string; 'Actual Rows': number; 'Actual Loops': number; Plans?: Plan[] } & {
  'Rows Removed by Filter'?: number;
};
const stepsOf = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(stepsOf)];

describe('plans of the console on PostgreSQL', () => {
  let client: pg.Client;
  let remove: () => Promise<void>;
  before(async () => {
    const database = await newDatabaseUrl('postgres');
    remove = database.remove;
    await databaseOf(readConfig({ DATABASE_URL: database.url })).migrate(1);
    client = new pg.Client(database.url);
    await client.connect();
    for (const statement of fill) await client.query(`${numbers} ${statement}`);
    // Tables of a few rows are read whole, whatever indexes they have.
    for (const table of ['workspaces', 'apps', 'datasets'])
      await client.query(
        `${numbers} INSERT INTO ${table} SELECT 'x' || i, 'w'${table === 'workspaces' ? '' : ", 'n'"}${table === 'apps' ? ", 'chat'" : ''} FROM numbers`,
      );
    await client.query('VACUUM ANALYZE');
  });
  after(async () => {
    await client?.end();
    await remove?.();
  });

  for (const [name, { text, values, reads }] of Object.entries(questions)) {
    it(`${name}: by an index, and no more rows than are needed`, async () => {
      let at = 0;
      const spelled = text.replaceAll('?', () => `$${++at}`);
      await client.query('BEGIN');
      const { rows } = await client.query(`EXPLAIN (ANALYZE, FORMAT JSON) ${spelled}`, values);
      await client.query('ROLLBACK');
      const steps = stepsOf(rows[0]['QUERY PLAN'][0].Plan);
      const shown = JSON.stringify(steps.map(({ Plans: _, ...step }) => step));
      assert.ok(!steps.some((step) => /Seq Scan|Sort/.test(step['Node Type'])), shown);
      // Counting the child chunks of a segment reads all of them, in its index.
      const scans = steps.filter((step) => /Scan/.test(step['Node Type']) && step['Node Type'] !== 'Index Only Scan');
      const read = scans.map(
        (step) => (step['Actual Rows'] + (step['Rows Removed by Filter'] ?? 0)) * step['Actual Loops'],
      );
      assert.ok(read.reduce((sum, one) => sum + one, 0) <= reads, shown);
    });
  }
});
