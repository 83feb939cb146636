import assert from 'node:assert/strict';
import { it } from 'node:test';
import pg from 'pg';
import { startService } from '../support/harness.ts';

it('the texts of messages are compressed by LZ4 where the server has it', async (t) => {
  const service = await startService('postgres');
  const client = new pg.Client(service.config.database_url);
  await client.connect();
  t.after(async () => {
    await client.end();
    await service.close();
  });
  const findValue = async (statement: string) => (await client.query(statement)).rows[0]?.value;
  const hasLz4 = await findValue(
    `SELECT 'lz4' = ANY(enumvals) AS value FROM pg_settings WHERE name = 'default_toast_compression'`,
  );
  t.diagnostic(`this server has ${hasLz4 ? 'LZ4' : 'no LZ4: the schema is created without it'}`);
  const compression = await findValue(
    `SELECT attcompression AS value FROM pg_attribute WHERE attrelid = 'messages'::regclass AND attname = 'doc'`,
  );
  assert.equal(compression, hasLz4 ? 'l' : '');
});
