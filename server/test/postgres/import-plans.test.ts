import assert from 'node:assert/strict';
import { it } from 'node:test';
import { type PostgresAddress, parsePostgresUrl } from '../../src/database-url.ts';
import { PostgresPool } from '../../src/store/postgres/pool/pool.ts';
import { findMessages } from '../../src/store/postgres/server/messages.ts';
import { newDatabaseUrl } from '../support/harness.ts';
import { describePlan, explain, openPostgres, rowsRead } from '../support/plans.ts';

it('finds the messages of a batch by index, also in a table without statistics', async (t) => {
  const { client, close } = await openPostgres();
  t.after(close);
  await client.query('ALTER TABLE messages SET (autovacuum_enabled = off)');
  await client.query(`INSERT INTO messages (conversation_id, created_at, sequence, id, doc)
    SELECT 'c', 1, i, 'm' || i, '{}' FROM generate_series(1, 10000) i`);
  const ids = Array.from({ length: 500 }, (_, at) => `m${9_751 + at}`);
  const plan = await explain(client, findMessages, [ids.map(() => 'c'), ids]);
  assert.equal(rowsRead(plan), 250, describePlan(plan));
});

it('plans a statement with a long list for its values, and others once', async (t) => {
  const { url, remove } = await newDatabaseUrl('postgres');
  const address = parsePostgresUrl(url) as PostgresAddress;
  const pool = new PostgresPool({ address, connections: 1, statementMillis: 60_000, prepared: true, changes: true });
  t.after(async () => {
    await pool.close();
    await remove();
  });
  const statement = 'SELECT COUNT(*) AS n FROM pg_class WHERE relname = ANY(?)';
  const count = async (names: string[]) => (await pool.query(statement, names))[0]?.n;
  const planned = async () => {
    const [row] = await pool.query('SELECT SUM(generic_plans + custom_plans) AS n FROM pg_prepared_statements');
    return Number(row?.n);
  };
  assert.equal(await count(['pg_class']), 1);
  assert.equal(await planned(), 1);
  assert.equal(await count(Array.from({ length: 500 }, (_, at) => (at === 250 ? 'pg_class' : `x${at}`))), 1);
  assert.equal(await planned(), 1);
  assert.equal(await count(['pg_class']), 1);
  assert.equal(await planned(), 2);
});
