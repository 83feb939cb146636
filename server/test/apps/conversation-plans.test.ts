import assert from 'node:assert/strict';
import type { DatabaseSync } from 'node:sqlite';
import { after, before, describe, it } from 'node:test';
import type pg from 'pg';
import { type ConversationOrder, conversationOrders } from '../../src/contract/conversation.ts';
import * as apps from '../../src/store/messages/statements.ts';
import { shortOrLong } from '../support/harness.ts';
import {
  describePlan,
  explain,
  isWasteful,
  numberParameters,
  openPostgres,
  openSqlite,
  planOf,
  rowsRead,
  stepsOf,
  type Value,
} from '../support/plans.ts';

/** Each order of the list of conversations is a range of an index, read up to the limit, wherever the page starts. */

const conversations = shortOrLong(20_000, 1_000_000);
const limit = 20;
const users = 10;

type PlanCase = { name: string; text: string; values: Value[] };

const planCases: PlanCase[] = conversationOrders.flatMap((order: ConversationOrder) =>
  [undefined, 'u1'].flatMap((user) =>
    // Conversation n has user n modulo `users`: all three belong to u1.
    [undefined, 1, conversations / 2 + 1, conversations - users + 1].map((last): PlanCase => {
      const after = last === undefined ? undefined : { id: `c${last}`, value: undefined };
      const [text, ...values] = apps.conversations({ app_id: 'a', user, after, order, limit });
      return { name: `${order}, ${user ?? 'all users'}, after ${after?.id ?? 'nothing'}`, text, values };
    }),
  ),
);

const fill = (series: (count: number) => string): string => `
  INSERT INTO conversations
    (conversation_id, app_id, "user", created_at, updated_at, deleted, version, next_sequence, last_message_at)
  SELECT 'c' || i, 'a', 'u' || (i % ${users}), i, i, 0, 'v', 1, 0 FROM ${series(conversations)}`;

const fillMessages = (series: (count: number) => string): string => `
  INSERT INTO messages (conversation_id, created_at, sequence, id, doc)
  SELECT 'c' || i, 1, 1, 'm' || i, '{}' FROM ${series(conversations)}`;

describe('query plans of conversations on SQLite', () => {
  let db: DatabaseSync;
  let close: () => Promise<void>;
  before(async () => {
    ({ db, close } = await openSqlite());
    const series = (n: number) =>
      `(WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${n}) SELECT i FROM n)`;
    for (const statement of [fill(series), fillMessages(series)]) db.exec(statement);
  });
  after(() => close?.());

  for (const { name, text, values } of planCases) {
    it(`${name}: uses an index in its order`, (t) => {
      const plan = planOf(db, text);
      const column = name.includes('created_at') ? 'creation' : 'update';
      const index = `conversations_by_${name.includes('u1') ? 'user_' : ''}${column} `;
      assert.ok(plan[0]?.startsWith(`SEARCH c USING INDEX ${index}`), plan.join('\n'));
      assert.ok(!plan.some(isWasteful), plan.join('\n'));
      const start = performance.now();
      assert.ok(db.prepare(text).all(...(values as string[])).length <= limit + 1);
      t.diagnostic(`${(performance.now() - start).toFixed(1)} ms`);
    });
  }

  it('finds a message by its id alone with one look-up', () => {
    const plan = planOf(db, apps.findMessageById).join('\n');
    assert.match(plan, /SEARCH m USING (?:COVERING )?INDEX messages_by_message \(id=\?\)/);
    assert.match(plan, /SEARCH c USING INDEX sqlite_autoindex_conversations_1/);
  });
});

describe('query plans of conversations on PostgreSQL', () => {
  let client: pg.Client;
  let close: () => Promise<void>;
  before(async () => {
    ({ client, close } = await openPostgres());
    const series = (n: number) => `generate_series(1, ${n}) AS n (i)`;
    for (const statement of [fill(series), fillMessages(series)]) await client.query(statement);
    await client.query('VACUUM ANALYZE');
  });
  after(() => close?.());

  for (const { name, text, values } of planCases) {
    it(`${name}: reads only the rows of the page`, async (t) => {
      const plan = await explain(client, numberParameters(text), values as string[]);
      assert.ok(!stepsOf(plan).some((step) => /Sort|Seq Scan/.test(step['Node Type'])), describePlan(plan));
      // The page, one row more, and the cursor.
      assert.ok(rowsRead(plan) <= limit + 2, `${rowsRead(plan)} rows read: ${describePlan(plan)}`);
      const start = performance.now();
      await client.query(numberParameters(text), values as string[]);
      t.diagnostic(`${(performance.now() - start).toFixed(1)} ms`);
    });
  }

  it('finds a message by its id alone with one look-up', async () => {
    const plan = await explain(client, numberParameters(apps.findMessageById), ['m7', 'a', 'u7']);
    assert.match(describePlan(plan), /messages_by_message/);
    assert.ok(rowsRead(plan) <= 2, describePlan(plan));
  });
});
