import assert from 'node:assert/strict';
import { it } from 'node:test';
import pg from 'pg';
import { limits } from '../../src/contract/limits.ts';
import { makeTwoTenants, message, startService } from '../support/harness.ts';

it('after a large import the planner of PostgreSQL knows how many messages there are', async (t) => {
  const { one, records } = makeTwoTenants();
  const service = await startService('postgres');
  const client = new pg.Client(service.config.database_url);
  await client.connect();
  t.after(async () => {
    await client.end();
    await service.close();
  });
  const storedMessages = async () =>
    Number((await client.query(`SELECT reltuples FROM pg_class WHERE relname = 'messages'`)).rows[0].reltuples);
  await service.load([...records, message(one.ids.conversation, 1)]);
  await client.query('ANALYZE messages');
  assert.equal(await storedMessages(), 1);
  const answer = 'x'.repeat(1_000);
  const count = Math.ceil(limits.spoolBytesMin / answer.length);
  await service.load(Array.from({ length: count }, (_, at) => message(one.ids.conversation, at, { answer })));
  assert.equal(await storedMessages(), count + 1);
});
