import assert from 'node:assert/strict';
import type { DatabaseSync } from 'node:sqlite';
import { after, before, describe, it } from 'node:test';
import type pg from 'pg';
import { userColumns } from '../../src/contract/console/users.ts';
import type { ListRange } from '../../src/domain/store/admin-reads.ts';
import type { Selection } from '../../src/domain/store/selection.ts';
import { conversationSums } from '../../src/store/accounting/usage-statements.ts';
import { findUncounted } from '../../src/store/accounting/user-writes.ts';
import { split } from '../../src/store/base/selection.ts';
import * as activity from '../../src/store/console/activity-reads.ts';
import { listPage } from '../../src/store/console/admin-statements.ts';
import * as overview from '../../src/store/console/overview-statements.ts';
import * as summary from '../../src/store/console/summaries.ts';
import { usersIn } from '../../src/store/console/user-reads.ts';
import * as erasure from '../../src/store/erasure/statements.ts';
import { updateActivity } from '../../src/store/sqlite/messages.ts';
import { readSelected } from '../../src/store/tables/selected-rows.ts';
import {
  type Dialect,
  describePlan,
  dialects,
  explain,
  isWasteful,
  numberParameters,
  openPostgres,
  openSqlite,
  type Plan,
  planOf,
  type Reader,
  rowsRead,
  stepsOf,
  type Value,
} from '../support/plans.ts';

/** Lists of conversations and sums of usage are read as index ranges, without sorting, and only the rows that a page needs. */

type PlanCase = { name: string; text: string; values: Value[]; rows: number };

/** These sort the few rows of a page, or the sums of some days. */
const isSummed = (name: string): boolean => name === 'sums of a page' || name.startsWith('overview');

/** Reads the first rows of an index in its order, the ids of a page, or sorts the few rows of a page. */
const isBounded = (name: string, step: string): boolean =>
  step === 'SCAN c USING INDEX conversations_by_latest' ||
  step.startsWith('SCAN json_each') ||
  (isSummed(name) && /^USE TEMP B-TREE FOR (?:GROUP BY|count\(DISTINCT\)|ORDER BY)$/.test(step));

const count = 21;
const conversations = 20_000;
/** Each app has a hundredth of the conversations; each conversation has two days. */
const apps = 100;

function planCases(dialect: Dialect): PlanCase[] {
  const { isIn, list } = dialect;
  const planCase = (name: string, [text, ...values]: readonly [string, ...Value[]], rows: number): PlanCase => {
    return { name, text, values, rows };
  };
  const middle = { after: [15_000, 'c5'], count };
  const ids = Array.from({ length: count }, (_, at) => `c${at * 7 + 1}`);
  const period = { first: 3, last: 4, app_id: undefined };
  // Two thousand rows of each day.
  const perDays = 2 * 2_000;
  const page = (selection: Selection, range: ListRange) => {
    const conditions = summary.selected(selection);
    return listPage(summary.summaries(conditions), split(conditions).values, range, 'small');
  };
  const first = { after: undefined, count };
  const ofUser = { app_id: 'a1', user: 'u101' };
  const months = { from: 10_000, to: 15_000 };
  return [
    planCase('newest conversations', page({ app_id: 'a1' }, first), count),
    planCase('conversations from the middle', page({ app_id: 'a1' }, middle), count),
    planCase('newest conversations of all apps', page({}, first), count),
    planCase('conversations of all apps from the middle', page({}, middle), count),
    planCase('conversations of a period', page(months, first), count),
    planCase('conversations of an app and a period', page({ app_id: 'a1', ...months }, first), count),
    // The user has twenty conversations, two of them deleted.
    planCase('conversations of a user', page(ofUser, first), 18),
    planCase('conversations of a user and a period', page({ ...ofUser, ...months }, first), 18),
    planCase('positions of conversations of a user', summary.positions(summary.selected(ofUser), middle), 18),
    ...userColumns.flatMap((column) =>
      ([column, `-${column}`] as const).flatMap((order) => {
        const key = column === 'user' ? ['a1', 'u5'] : column === 'currency' ? ['c5', 'u5'] : [1, 'u5'];
        const page = (after: ListRange['after']) => listPage(usersIn(order), ['a1'], { after, count }, 'small');
        return [
          planCase(`users by ${order}`, page(undefined), count),
          planCase(`users by ${order} from the middle`, page(key), count),
        ];
      }),
    ),
    planCase('sums of a page', [conversationSums(isIn('d.conversation_id')), list(ids)], ids.length * 2),
    planCase('texts of a page', [summary.texts(dialect), list(ids), list(ids), list(ids)], ids.length * 3),
    planCase('overview by day', overview.sumParts(period, 'day', []), perDays),
    planCase(
      'overview by hour and model',
      overview.sumParts(period, 'hour', [{ model_provider: '', model: '' }]),
      perDays,
    ),
    planCase('overview by app and model', overview.sumAppsAndModels(period, 4), perDays),
    planCase('overview until an hour', overview.sumUntilHour(period, 12), perDays),
    planCase('overview of an app', overview.sumParts({ ...period, app_id: 'a1' }, 'day', [{ app_id: 'a1' }]), perDays),
    planCase('overview by user', overview.topUsers({ ...period, app_id: 'a1' }), perDays),
    planCase('overview of users', overview.countUsers({ ...period, app_id: 'a1' }), perDays),
    planCase('overview of users by hour', overview.countUsersBySlot({ ...period, app_id: 'a1' }, 'hour'), perDays),
    // Twenty conversations, each with two days.
    planCase('overview of one user', overview.sumParts({ ...period, ...ofUser }, 'day', []), 70),
    planCase('overview of one user in all apps', overview.topUsers({ ...period, user: 'u101' }), 200),
    planCase('one conversation', [activity.findListedConversation, 'c101', 'a1', 'c101'], 3),
  ];
}

/** The same rows on both engines; `series` returns the numbers from 1 to `count`. */
const fill = (series: (count: number) => string): string[] => [
  `INSERT INTO workspaces (id, name) VALUES ('w', 'w')`,
  `INSERT INTO apps (id, workspace_id, name, mode) SELECT 'a' || i, 'w', 'a', 'chat' FROM ${series(apps)}`,
  `INSERT INTO conversations
     (conversation_id, app_id, "user", created_at, updated_at, deleted, version, next_sequence, last_message_at)
   SELECT 'c' || i, 'a' || (i % ${apps}), 'u' || (i % 1000), 1, i, CASE WHEN i % 7 = 0 THEN 1 ELSE 0 END, 'v', 1, i
   FROM ${series(conversations)}`,
  `INSERT INTO messages (conversation_id, created_at, sequence, id, doc)
   SELECT 'c' || i, i, 1, 'm' || i, '{"query":"q","answer":"a"}' FROM ${series(conversations)}`,
  `INSERT INTO user_totals (user_key, app_id, "user", app_ids, app_count, conversations, messages, disliked, failed, prices,
     price_nanos, currency, first_at, last_at)
   SELECT 'u' || i, 'a' || (i % 2), 'u' || i, '[]', i % 3, i % 5, i, i, i, '[]', i, 'c' || (i % 9), i, i FROM ${series(10_000)}`,
  ...[0, 1].map(
    (offset) => `
      INSERT INTO conversation_days (conversation_id, day, currency, app_id, messages, tokens, price_nanos)
      SELECT 'c' || i, i / 1000 + ${offset}, 'USD', 'a' || (i % ${apps}), 1, 1, 1 FROM ${series(conversations)}`,
  ),
];

/** The statements of an export with a filter, and the numbers of rows that they return. */
async function exportStatements(read: Reader, selection: Selection): Promise<Parameters<Reader>[]> {
  const statements = new Map<string, Parameters<Reader>>();
  const traced: Reader = (...statement) => {
    statements.set(statement[0], statement);
    return read(...statement);
  };
  let messages = 0;
  for await (const { step, rows } of readSelected(traced, selection)) {
    if (step.kind === 'message') messages += rows.length;
    if (messages > 50) break;
  }
  assert.ok(messages > 0);
  return [...statements.values()].filter(([text]) => / FROM (conversations|messages) /.test(text));
}
const exports: Record<string, Selection> = {
  'of a user in an app': { app_id: 'a1', user: 'u101' },
  'of an app': { app_id: 'a1' },
  'of a user': { user: 'u101' },
  'of a conversation': { conversation_id: 'c101' },
  'of everything': {},
};

describe('query plans of activity on SQLite', () => {
  let db: DatabaseSync;
  let read: Reader;
  let close: () => Promise<void>;
  before(async () => {
    ({ db, read, close } = await openSqlite());
    const series = (n: number) =>
      `(WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${n}) SELECT i FROM n)`;
    for (const statement of fill(series)) db.exec(statement);
  });
  after(() => close?.());

  for (const { name, text, values } of planCases(dialects.sqlite)) {
    it(`${name}: uses an index in its order`, (t) => {
      const plan = planOf(db, text);
      t.diagnostic(plan.join(' / '));
      assert.ok(
        plan.some((step) => step.startsWith('SEARCH ')),
        plan.join('\n'),
      );
      const steps = plan.filter((step) => !isBounded(name, step));
      assert.ok(!steps.some(isWasteful), plan.join('\n'));
      assert.ok(db.prepare(text).all(...(values as string[])).length > 0);
    });
  }

  for (const [name, selection] of Object.entries(exports)) {
    it(`an export ${name}: uses indexes in their order`, async () => {
      for (const [text] of await exportStatements(read, selection)) {
        const plan = planOf(db, text);
        assert.ok(!plan.some(isWasteful), plan.join('\n'));
      }
    });
  }

  it('finds the rows of writes and purges by keys only', () => {
    assert.match(
      planOf(db, erasure.findConversations({ app_id: 'a', user: 'u' })[0]).join(),
      /conversations_by_user\w* \(app_id=\? AND deleted=\? AND <expr>=\?\)/,
    );
    assert.deepEqual(planOf(db, findUncounted), [
      'SEARCH conversations USING INDEX conversations_uncounted (conversation_id>?)',
    ]);
    const newest = planOf(db, updateActivity).join('\n');
    assert.match(newest, /SEARCH m USING PRIMARY KEY \(conversation_id=\?\)/);
  });
});

describe('query plans of activity on PostgreSQL', () => {
  let client: pg.Client;
  let read: Reader;
  let close: () => Promise<void>;
  before(async () => {
    ({ client, read, close } = await openPostgres());
    for (const statement of fill((n) => `generate_series(1, ${n}) AS n (i)`)) await client.query(statement);
    await client.query('VACUUM ANALYZE');
  });
  after(() => close?.());

  for (const { name, text, values, rows } of planCases(dialects.postgres)) {
    it(`${name}: uses an index in its order and reads only the rows it needs`, async (t) => {
      const plan = await explain(client, numberParameters(text), values as string[]);
      t.diagnostic(describePlan(plan));
      const large = ['conversations', 'conversation_days', 'messages', 'user_totals'];
      const isLarge = (step: Plan) => large.includes(step['Relation Name'] ?? '');
      const scans = stepsOf(plan).filter(isLarge);
      assert.ok(scans.length > 0);
      assert.ok(!scans.some((step) => step['Node Type'] === 'Seq Scan'), describePlan(plan));
      assert.ok(isSummed(name) || !/Sort/.test(describePlan(plan)), describePlan(plan));
      const found = rowsRead(plan, isLarge);
      assert.ok(found <= rows, `${found} rows read: ${describePlan(plan)}`);
    });
  }

  for (const [name, selection] of Object.entries(exports)) {
    it(`an export ${name}: reads only the rows it needs`, async () => {
      for (const [text, ...values] of await exportStatements(read, selection)) {
        const plan = await explain(client, numberParameters(text), values);
        assert.ok(!/Seq Scan/.test(describePlan(plan)), describePlan(plan));
        const rows = Number(values.at(-1));
        assert.ok(rowsRead(plan) <= (Number.isNaN(rows) ? 1 : rows), describePlan(plan));
      }
    });
  }

  it('finds the conversations to count for users by their index', async () => {
    const plan = await explain(client, numberParameters(findUncounted), ['', count]);
    assert.match(describePlan(plan), /Index Scan conversations conversations_uncounted/);
    assert.ok(rowsRead(plan) <= count, describePlan(plan));
  });
});
