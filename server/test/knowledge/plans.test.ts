import assert from 'node:assert/strict';
import type { DatabaseSync } from 'node:sqlite';
import { after, before, describe, it } from 'node:test';
import type pg from 'pg';
import type { KnowledgeLocation } from '../../src/domain/store/child-chunks.ts';
import type { OffsetQuery } from '../../src/domain/store/knowledge-reads.ts';
import { findLastChunk } from '../../src/store/knowledge/chunk-writes.ts';
import { SqlKnowledgeReads } from '../../src/store/knowledge/reads.ts';
import { shortOrLong } from '../support/long.ts';
import {
  type Dialect,
  describePlan,
  dialects,
  explain,
  numberParameters,
  openPostgres,
  openSqlite,
  planOf,
  type Reader,
  rowsRead,
  stepsOf,
} from '../support/plans.ts';

/** One document has this number of segments, and one segment this number of chunks. */
const rows = shortOrLong(24_000, 100_000);
const text = 'A text as long as that of a chunk. '.repeat(10);
/** Every fifth segment is in another document, and every fifth chunk is deleted. */
const all = (rows * 5) / 4;
const fill = [
  `INSERT INTO datasets (id, workspace_id, name, created_at) SELECT 'd' || i, 'w' || (i % 8), 'name', i FROM numbers`,
  `INSERT INTO documents (dataset_id, id, name, position, created_at, display_status, word_count)
   SELECT 'd' || (i % 8), 'o' || i, 'name', i, i % 100, CASE i % 3 WHEN 0 THEN 'available' ELSE 'disabled' END, i
   FROM numbers`,
  `INSERT INTO segments (dataset_id, id, document_id, position, content)
   SELECT 'd1', 's' || i, CASE i % 5 WHEN 0 THEN 'o' || i ELSE 'o1' END, i, '${text}' FROM numbers`,
  `INSERT INTO child_chunks
     (dataset_id, id, segment_id, content, position, word_count, type, created_at, updated_at, version, deleted)
   SELECT 'd1', 'c' || i, 's1', '${text}', i, 1, 'automatic', 1, 1, 'v', CASE i % 5 WHEN 0 THEN 1 ELSE 0 END FROM numbers`,
];
const numbers = `WITH RECURSIVE numbers(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM numbers WHERE i < ${all})`;

const location = { workspace_id: 'w1', dataset_id: 'd1', document_id: 'o1', segment_id: 's1' };
const { segment_id: _, ...inDocument } = location;
const { document_id: __, ...inDataset } = inDocument;
const limit = 20;
type Case = { text: string; values: unknown[]; index: string; table: string };

const noScan = () => assert.fail('it has no filter');

/** The statement of each list, at both ends and in the middle, with the index that it must use. */
async function casesOf(dialect: Dialect): Promise<Record<string, Case>> {
  let statement: [string, ...unknown[]] = [''];
  const reads = new SqlKnowledgeReads(
    async (...given) => {
      statement = given;
      return [];
    },
    dialect,
    noScan,
  );
  const cases: Record<string, Case> = {};
  const lists: [string, number, string, string, (query: OffsetQuery, at: KnowledgeLocation) => Promise<unknown>][] = [
    [
      'datasets',
      all / 8,
      'datasets',
      'datasets_by_time',
      (query) => reads.listDatasets({ workspace_id: 'w1', dataset_ids: null }, query),
    ],
    ['documents', all / 8, 'documents', 'documents_by_time', (query) => reads.listDocuments(inDataset, query)],
    [
      'documents of a status',
      all / 24,
      'documents',
      'documents_by_status',
      (query) => reads.listDocuments(inDataset, { ...query, status: 'available' }),
    ],
    ['segments', rows, 'segments', 'segments_by_position', (query) => reads.listSegments(inDocument, query)],
    [
      'child chunks',
      rows,
      'child_chunks',
      'child_chunks_by_position',
      (query) => reads.listChildChunks(location, query),
    ],
  ];
  for (const [name, count, table, index, list] of lists) {
    const last = Math.floor(count / limit);
    for (const [where, page] of [
      ['first', 1],
      ['middle', Math.floor(last / 2)],
      ['last', last],
    ] as const) {
      await list({ page, limit }, location);
      const [text, ...values] = statement;
      cases[`${name}, ${where} page`] = { text, values, index, table };
    }
  }
  await reads.findTotals(['d1']);
  const [text, ...values] = statement;
  cases['totals of a dataset'] = { text, values, index: 'documents_by_status', table: 'documents' };
  const lastChunk = { text: findLastChunk, values: ['d1', 's1'] };
  cases['last child chunk'] = { ...lastChunk, index: 'child_chunks_by_position', table: 'child_chunks' };
  return cases;
}

describe('query plans of the lists of knowledge bases on SQLite', () => {
  let db: DatabaseSync;
  let close: () => Promise<void>;
  before(async () => {
    ({ db, close } = await openSqlite());
    for (const statement of fill) db.exec(`${numbers} ${statement}`);
  });
  after(() => close?.());

  it('every list reads the ids of a page from an index, and sorts only the page', async (t) => {
    for (const [name, { text, values, index, table }] of Object.entries(await casesOf(dialects.sqlite))) {
      const plan = planOf(db, text);
      const shown = `${name}:\n${plan.join('\n')}`;
      const scans = plan.filter((step) => new RegExp(`^SCAN (${table}|x)\\b`).test(step));
      assert.deepEqual(scans, [], shown);
      assert.ok(
        plan.some((step) => step.startsWith(`SEARCH ${table} USING COVERING INDEX ${index} `)),
        shown,
      );
      // The rows of the page, in the order of the list.
      assert.ok(plan.filter((step) => /TEMP B-TREE/.test(step)).length <= 1, shown);
      const start = performance.now();
      assert.ok(db.prepare(text).all(...(values as string[])).length <= limit);
      t.diagnostic(`${name}: ${(performance.now() - start).toFixed(1)} ms`);
    }
  });

  it('a list with a keyword reads the rows of its scope by an index, and the page by its ids', async (t) => {
    const scans: [string, ...unknown[]][] = [];
    const scan: ConstructorParameters<typeof SqlKnowledgeReads>[2] = (work) =>
      work(async (...given) => {
        scans.push(given);
        return [];
      });
    const findPath: Reader = async () => [{ found_document: 'o1', found_segment: 's1' }] as never[];
    const reads = new SqlKnowledgeReads(findPath, dialects.sqlite, scan);
    const query = { page: 1, limit, keyword: 'kettle' };
    await reads.listDatasets({ workspace_id: 'w1', dataset_ids: null }, { ...query, tag_ids: ['t'] });
    await reads.listDocuments(inDataset, query);
    await reads.listDocuments(inDataset, { ...query, status: 'available' });
    await reads.listSegments(inDocument, { ...query, status: ['completed'] });
    await reads.listChildChunks(location, query);
    assert.equal(scans.length, 5);
    for (const [text, ...values] of scans) {
      const plan = planOf(db, text);
      const table = /FROM \(SELECT id FROM (\w+)/.exec(text)?.[1];
      const shown = plan.join('\n');
      // For the page, in its order. They are counted by it, too, or by the key of the dataset.
      const inOrder = new RegExp(`^SEARCH ${table} USING INDEX ${table}_by_(?:time|status|position) `);
      const counted = new RegExp(`^SEARCH ${table} USING (?:INDEX|PRIMARY KEY) `);
      assert.ok(plan.filter((step) => inOrder.test(step)).length >= 1, shown);
      assert.equal(plan.filter((step) => counted.test(step)).length, 2, shown);
      assert.match(
        shown,
        /SEARCH x USING (?:INDEX sqlite_autoindex_\w+|(?:COVERING )?INDEX \w+_by_id) \((?:dataset_id=\? AND )?id=\?/,
      );
      assert.ok(plan.filter((step) => /TEMP B-TREE/.test(step)).length <= 1, shown);
      const start = performance.now();
      db.prepare(text).all(...(values as string[]));
      t.diagnostic(`${table}: ${(performance.now() - start).toFixed(1)} ms`);
    }
  });
});

describe('query plans of the lists of knowledge bases on PostgreSQL', () => {
  let client: pg.Client;
  let close: () => Promise<void>;
  before(async () => {
    ({ client, close } = await openPostgres());
    for (const statement of fill) await client.query(`${numbers} ${statement}`);
    await client.query('VACUUM ANALYZE');
  });
  after(() => close?.());

  it('every list reads the ids of a page from an index, and only its own rows', async (t) => {
    for (const [name, { text, values }] of Object.entries(await casesOf(dialects.postgres))) {
      const plan = await explain(client, numberParameters(text), values);
      const shown = `${name}: ${describePlan(plan)}`;
      const steps = stepsOf(plan);
      assert.ok(!steps.some((step) => step['Node Type'] === 'Seq Scan'), shown);
      for (const step of steps) {
        if (step['Node Type'].includes('Sort')) assert.ok((step['Actual Rows'] ?? 0) <= limit, shown);
      }
      const read = rowsRead(plan, (step) => step['Node Type'] !== 'Index Only Scan');
      assert.ok(read <= limit + 4, `${read} rows read: ${shown}`);
      const start = performance.now();
      await client.query(numberParameters(text), values);
      t.diagnostic(`${name}: ${(performance.now() - start).toFixed(1)} ms`);
    }
  });
});
