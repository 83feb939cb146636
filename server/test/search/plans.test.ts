import assert from 'node:assert/strict';
import type { DatabaseSync } from 'node:sqlite';
import { after, before, describe, it } from 'node:test';
import type pg from 'pg';
import type { IndexQuery } from '../../src/domain/store/search-reads.ts';
import { countDisliked, findEntries, findTimeAfter, findWorst } from '../../src/store/search/statements.ts';
import {
  describePlan,
  dialects,
  explain,
  isWasteful,
  numberParameters,
  openPostgres,
  openSqlite,
  planOf,
  rowsRead,
} from '../support/plans.ts';

const word = (token: string, isPrefix = false) => ({ token, isPrefix });
const queries: Record<string, IndexQuery> = {
  'a rare word': { tokens: [[word('rare')]] },
  'a frequent word and a filter': { tokens: [[word('often')], [word('\u{e000}d')]] },
  'one of several': { tokens: [[word('\u{e000}p40'), word('\u{e000}p41')]], min_cost: 1000 },
  'no word': { tokens: [] },
};

describe('plans of the search [sqlite]', () => {
  let db: DatabaseSync;
  let close: () => Promise<void>;
  before(async () => ({ db, close } = await openSqlite()));
  after(() => close());

  for (const [name, query] of Object.entries(queries)) {
    it(`${name}: reads the index in its order`, () => {
      for (const table of ['search_messages', 'search_chunks'] as const) {
        if (table === 'search_chunks' && query.min_cost !== undefined) continue;
        const [statement] = findEntries(dialects.sqlite, table, query);
        // A table of FTS5 is always "scanned": its index has the conditions on words and positions.
        const steps = planOf(db, statement).map((step) =>
          step.replace(/^SCAN t VIRTUAL TABLE INDEX \d+:M\d[<>]+/, 'SEARCH t'),
        );
        assert.deepEqual(steps.filter(isWasteful), [], steps.join(' / '));
      }
      assert.deepEqual(planOf(db, findTimeAfter).filter(isWasteful), []);
    });
  }

  it('answers that cite a text: reads the disliked ones of the days, and groups only these', () => {
    const [[counted], [worst]] = [planOf(db, countDisliked), planOf(db, findWorst)];
    const ofDays = '(dataset_id=? AND document_id=? AND segment_id=? AND day>?)';
    assert.equal(counted, `SEARCH search_citations USING PRIMARY KEY ${ofDays}`);
    assert.equal(worst, 'SEARCH search_citations USING COVERING INDEX search_citations_disliked (day>?)');
  });
});

describe('plans of the search [postgres]', () => {
  const rows = 20_000;
  let client: pg.Client;
  let close: () => Promise<void>;
  before(async () => {
    ({ client, close } = await openPostgres());
    await client.query(`
      INSERT INTO search_messages (position, conversation_id, id, created_at, latency, cost, tokens)
      SELECT n * 65536, 'c', n::text, n, 1, CASE WHEN n % 500 = 0 THEN 2000 END, array_to_tsvector(ARRAY['often', 'w' || n]
        || CASE WHEN n % 5000 = 1 THEN ARRAY['rare'] ELSE '{}' END || CASE WHEN n % 100 = 2 THEN ARRAY['\u{e000}d'] ELSE '{}' END
        || CASE WHEN n % 500 = 0 THEN ARRAY['\u{e000}p40'] ELSE '{}' END)
      FROM generate_series(1, ${rows}) n`);
    await client.query('ANALYZE search_messages');
  });
  after(() => close());

  for (const [name, query] of Object.entries(queries)) {
    it(`${name}: reads a small part of the index`, async () => {
      const [statement, values] = findEntries(dialects.postgres, 'search_messages', query);
      const plan = await explain(client, numberParameters(statement), [...values, 0, rows * 65536 * 2, 21]);
      assert.ok(rowsRead(plan) < rows / 4, describePlan(plan));
      assert.doesNotMatch(describePlan(plan), /Seq Scan/);
    });
  }

  it('answers that cite a text: reads the disliked ones of the days', async () => {
    await client.query(`
      INSERT INTO search_citations
      SELECT 'b', 'd' || n % 100, 's' || n % 1000, n / 1000, '', 9, CASE WHEN n % 50 = 0 THEN 1 ELSE 0 END
      FROM generate_series(1, 100000) n;
      ANALYZE search_citations`);
    for (const statement of [countDisliked, findWorst]) {
      const values = statement === findWorst ? [70, 20] : [70];
      const plan = await explain(client, numberParameters(statement), values);
      assert.ok(rowsRead(plan) < 1_000, describePlan(plan));
      assert.doesNotMatch(describePlan(plan), /Seq Scan/);
    }
  });
});
