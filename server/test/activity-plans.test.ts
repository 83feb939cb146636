import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, it } from 'node:test';
import pg from 'pg';
import { readConfig } from '../src/config.ts';
import * as activity from '../src/store/activity-statements.ts';
import { page } from '../src/store/admin-statements.ts';
import type { Value } from '../src/store/engine.ts';
import { databaseOf } from '../src/store/open.ts';
import * as embedded from '../src/store/sqlite-statements.ts';
import * as sql from '../src/store/statements.ts';
import { subtractFromApps } from '../src/store/usage-statements.ts';
import { newDatabaseUrl } from './harness.ts';

/** How the lists of conversations and usage are read: ranges of an index, without sorting, no more than a page needs. */

type Question = { name: string; text: string; values: Value[]; rows: number };

const count = 21;
const conversations = 20_000;
/** Each app has a hundredth of the conversations; each conversation has two days. */
const apps = 100;

function questionsOn(usageDays: string): Question[] {
  const ask = (name: string, [text, ...values]: [string, ...Value[]], rows: number): Question => {
    return { name, text, values, rows };
  };
  const middle = { after: [15_000, 'c5'], count };
  // A row of a page, and its days.
  const perPage = count * 3;
  const usage = (app_id: string | undefined, after?: (string | number)[]) =>
    activity.usage(usageDays, { since: 0, app_id }, { after, count });
  return [
    ask('newest', page(activity.conversations, ['a1'], { after: undefined, count }), perPage),
    ask('from the middle', page(activity.conversations, ['a1'], middle), perPage),
    ask('one', [activity.findConversation, 'a1', 'c101'], 3),
    ask('of one user', page(activity.conversationsOfUser, ['a1', 'u1', 'c'], middle), perPage),
    ask('search', [activity.conversationsOfUsers('>=', true), 'a1', 'u', 'v', 'c', count], perPage),
    ask('search on', [activity.conversationsOfUsers('>', true), 'a1', 'u1', 'v', 'c', count], perPage),
    ask('search to the end', [activity.conversationsOfUsers('>=', false), 'a1', 'u', 'c', count], perPage),
    // On PostgreSQL a day of an app has twenty rows that are added up, and a page may begin anywhere in a day.
    ask('usage', usage(undefined), count * 20),
    ask('usage from the middle', usage(undefined, [15, 'a5', '']), count * 20 + apps * 20),
    ask('usage of an app', usage('a1'), count * 20),
  ];
}

/** The same rows on both engines; `series` gives numbers from 1 on. */
const fill = (series: (count: number) => string): string[] => [
  `INSERT INTO workspaces (id, name) VALUES ('w', 'w')`,
  `INSERT INTO apps (id, workspace_id, name, mode) SELECT 'a' || i, 'w', 'a', 'chat' FROM ${series(apps)}`,
  `INSERT INTO conversations (conversation_id, app_id, "user", created_at, deleted, version, next_sequence, last_message_at)
   SELECT 'c' || i, 'a' || (i % ${apps}), 'u' || (i % 1000), 1, CASE WHEN i % 7 = 0 THEN 1 ELSE 0 END, 'v', 1, i
   FROM ${series(conversations)}`,
  ...[0, 1].map(
    (later) => `
      INSERT INTO conversation_days (conversation_id, day, currency, app_id, messages, tokens, price_nanos)
      SELECT 'c' || i, i / 1000 + ${later}, 'USD', 'a' || (i % ${apps}), 1, 1, 1 FROM ${series(conversations)}`,
  ),
];

describe('plans of activity on SQLite', () => {
  let db: DatabaseSync;
  let remove: () => Promise<void>;
  before(async () => {
    const database = await newDatabaseUrl('sqlite');
    remove = database.remove;
    await databaseOf(readConfig({ DATABASE_URL: database.url })).migrate(1);
    db = new DatabaseSync(database.url.replace('sqlite:', ''));
    db.exec('PRAGMA synchronous = OFF');
    const series = (n: number) =>
      `(WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${n}) SELECT i FROM n)`;
    for (const statement of fill(series)) db.exec(statement);
    db.exec(
      `INSERT INTO usage_days SELECT day, app_id, currency, COUNT(*), 1, 1 FROM conversation_days GROUP BY 1, 2, 3`,
    );
  });
  after(async () => {
    db?.close();
    await remove?.();
  });

  const planOf = (text: string): string[] =>
    db
      .prepare(`EXPLAIN QUERY PLAN ${text}`)
      .all(...Array(text.split('?').length - 1).fill(null))
      .map(({ detail }) => String(detail));

  for (const { name, text, values } of questionsOn('usage_days')) {
    it(`${name}: by an index, in its order`, (t) => {
      const plan = planOf(text);
      t.diagnostic(plan.join(' / '));
      assert.ok(
        plan.some((step) => step.startsWith('SEARCH ')),
        plan.join('\n'),
      );
      assert.ok(!plan.some((step) => /^SCAN|TEMP B-TREE|AUTOMATIC/.test(step)), plan.join('\n'));
      assert.ok(db.prepare(text).all(...(values as string[])).length > 0);
    });
  }

  it('writes and erasures look up by keys alone', () => {
    const person = sql.purge.chosen('user');
    assert.match(planOf(person).join(), /conversations_by_user \(app_id=\? AND deleted=\? AND <expr>=\?\)/);
    const plan = planOf(subtractFromApps(person)).join('\n');
    assert.match(plan, /SEARCH conversation_days USING PRIMARY KEY/);
    assert.match(plan, /SEARCH usage_days USING PRIMARY KEY/);
    const newest = planOf(embedded.advanceConversation).join('\n');
    assert.match(newest, /SEARCH messages USING PRIMARY KEY \(conversation_id=\?\)/);
  });
});

type Plan = {
  'Node Type': string;
  'Relation Name'?: string;
  'Index Name'?: string;
  'Actual Rows'?: number;
  'Actual Loops'?: number;
  'Rows Removed by Filter'?: number;
  Plans?: Plan[];
};
const stepsOf = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(stepsOf)];
const shown = (plan: Plan): string =>
  stepsOf(plan)
    .map((step) => [step['Node Type'], step['Index Name'], step['Actual Rows']].filter(Boolean).join(' '))
    .join(' / ');

describe('plans of activity on PostgreSQL', () => {
  let client: pg.Client;
  let remove: () => Promise<void>;
  before(async () => {
    const database = await newDatabaseUrl('postgres');
    remove = database.remove;
    await databaseOf(readConfig({ DATABASE_URL: database.url })).migrate(1);
    client = new pg.Client(database.url);
    await client.connect();
    for (const statement of fill((n) => `generate_series(1, ${n}) AS n (i)`)) await client.query(statement);
    await client.query('VACUUM ANALYZE');
  });
  after(async () => {
    await client?.end();
    await remove?.();
  });

  for (const { name, text, values, rows } of questionsOn('conversation_days')) {
    it(`${name}: by an index, in its order, and no more than it needs`, async (t) => {
      let at = 0;
      const spelled = text.replaceAll('?', () => `$${++at}`);
      const found = await client.query(`EXPLAIN (ANALYZE, FORMAT JSON) ${spelled}`, values as string[]);
      const plan = found.rows[0]['QUERY PLAN'][0].Plan as Plan;
      t.diagnostic(shown(plan));
      const large = ['conversations', 'conversation_days', 'messages'];
      const scans = stepsOf(plan).filter((step) => large.includes(step['Relation Name'] ?? ''));
      assert.ok(scans.length > 0);
      assert.ok(!scans.some((step) => step['Node Type'] === 'Seq Scan'), shown(plan));
      assert.ok(name === 'usage of an app' || !/Sort/.test(shown(plan)), shown(plan));
      const read = scans
        .map(
          (step) => ((step['Actual Rows'] ?? 0) + (step['Rows Removed by Filter'] ?? 0)) * (step['Actual Loops'] ?? 1),
        )
        .reduce((sum, one) => sum + one, 0);
      assert.ok(read <= rows, `${read} rows read: ${shown(plan)}`);
    });
  }
});
