import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ListRange } from '../../src/domain/store/admin-reads.ts';
import type { ReviewSelection } from '../../src/domain/store/reviews.ts';
import { reviews } from '../../src/store/console/review-reads.ts';
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
} from '../support/plans.ts';

/** Of many messages, every twentieth needs a review, and every thirtieth has one. */
const messages = 20_000;
const numbers = `WITH RECURSIVE numbers(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM numbers WHERE i < ${messages})`;
const state = `CASE WHEN i % 20 = 0 THEN 'new' WHEN i % 30 = 0 THEN 'open' WHEN i % 30 = 1 THEN 'done' END`;
const fill = [
  `INSERT INTO conversations (conversation_id, app_id, created_at, deleted, version, next_sequence)
   SELECT 'c' || i, 'a' || (i / 20 % 2), 1, 0, 'v', 9 FROM numbers WHERE i <= 1000`,
  `INSERT INTO messages (conversation_id, created_at, sequence, id, doc, review_state, listed_app_id)
   SELECT 'c' || (1 + i % 1000), i, i, 'm' || i, '{}', ${state}, 'a' || ((1 + i % 1000) / 20 % 2) FROM numbers`,
  `INSERT INTO reviews (conversation_id, message_id, app_id, state, labels, updated_at, version)
   SELECT 'c' || (1 + i % 1000), 'm' || i, 'a' || ((1 + i % 1000) / 20 % 2), ${state}, '["price"]', i, 'v' FROM numbers
   WHERE ${state} IN ('open', 'done')`,
];

const count = 20;
const all: ReviewSelection = {
  ...{ state: 'open', label: undefined, app_id: undefined, assignee: undefined, document_id: undefined },
  message_id: undefined,
  ...{ from: undefined, to: undefined, unreviewedFrom: 5_000 },
};
const first: ListRange = { after: undefined, count };
const middle: ListRange = { after: [10_000, 'c5', 'm5'], count };
/** With the number of messages that one statement may read: an app has half of them; with a label it may start from all reviews. */
const cases: [string, ReviewSelection, ListRange, number][] = [
  ['open', all, first, count + 1],
  ['open, from the middle', all, middle, count + 1],
  ['open, of an app', { ...all, app_id: 'a0' }, first, 2 * count + 2],
  ['done, with a label', { ...all, state: 'done', label: 'price' }, first, messages / 20],
  ['of all states, in a period', { ...all, state: undefined, from: 9_000, to: 12_000 }, first, count + 1],
];

/** The statements of a page, which has as many rows as it may have. */
async function statementsOf(dialect: Dialect, read: Reader, selection: ReviewSelection, range: ListRange) {
  const statements: Parameters<Reader>[] = [];
  const counted: Reader = async (...statement) => {
    statements.push(statement);
    return read(...statement);
  };
  const { rows, has_more } = await reviews({ dialect, read: counted }).list(selection, range);
  assert.deepEqual([rows.length, has_more], [count, true]);
  return statements;
}

/** Of the list with one message. */
async function oneStatementOf(dialect: Dialect, read: Reader) {
  const statements: Parameters<Reader>[] = [];
  const noted: Reader = async (...statement) => {
    statements.push(statement);
    return read(...statement);
  };
  const selection = { ...all, state: undefined, app_id: 'a0', message_id: 'm18' };
  const { rows } = await reviews({ dialect, read: noted }).list(selection, first);
  assert.deepEqual([rows.length, statements.length], [1, 1]);
  return statements[0] ?? assert.fail();
}

/** Of the counts, with those of the labels. */
async function countStatementsOf(dialect: Dialect, read: Reader) {
  const statements: Parameters<Reader>[] = [];
  const counted: Reader = async (...statement) => {
    statements.push(statement);
    return read(...statement);
  };
  const { open, labels } = await reviews({ dialect, read: counted }).count(all);
  assert.deepEqual([open, labels.map(({ label }) => label)], [1_000, ['price']]);
  return statements;
}

describe('query plans of reviews', () => {
  it('SQLite: each state is a range of the index, in its order', async () => {
    const { db, read, close } = await openSqlite();
    try {
      for (const statement of fill) db.exec(`${numbers} ${statement}`);
      for (const [name, selection, range] of cases) {
        for (const [text] of await statementsOf(dialects.sqlite, read, selection, range)) {
          const plan = planOf(db, text);
          assert.match(plan[0] ?? '', /^SEARCH m USING INDEX messages_by_review \(review_state=\?/, name);
          assert.deepEqual(plan.filter(isWasteful), [], `${name}: ${plan.join('\n')}`);
        }
      }
      const [one] = await oneStatementOf(dialects.sqlite, read);
      assert.match(planOf(db, one)[0] ?? '', /^SEARCH m USING INDEX messages_by_message \(id=\?\)/);
      for (const [text] of await countStatementsOf(dialects.sqlite, read)) {
        const plan = planOf(db, text).join('\n');
        assert.match(plan, /SEARCH m USING .*INDEX messages_by_review \(review_state=\?/);
        assert.doesNotMatch(plan, /SCAN [mrc]|FOR ORDER BY/);
      }
    } finally {
      await close();
    }
  });

  it('PostgreSQL: reads only the messages of the page', async () => {
    const { client, read, close } = await openPostgres();
    try {
      for (const statement of fill) await client.query(`${numbers} ${statement}`);
      await client.query('VACUUM ANALYZE');
      for (const [name, selection, range, reads] of cases) {
        for (const [text, ...values] of await statementsOf(dialects.postgres, read, selection, range)) {
          const plan = await explain(client, numberParameters(text), values);
          const isSlow = selection.label === undefined ? /Seq Scan|Sort/ : /Seq Scan m/;
          assert.doesNotMatch(describePlan(plan), isSlow, name);
          const found = rowsRead(plan, ({ Alias }) => Alias === 'm');
          assert.ok(found <= reads, `${name}: ${found} messages: ${describePlan(plan)}`);
        }
      }
      const [text, ...values] = await oneStatementOf(dialects.postgres, read);
      const plan = await explain(client, numberParameters(text), values);
      assert.equal(
        rowsRead(plan, ({ Alias }) => Alias === 'm'),
        1,
      );
      await countStatementsOf(dialects.postgres, read);
    } finally {
      await close();
    }
  });
});
