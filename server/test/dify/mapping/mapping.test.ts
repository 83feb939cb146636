import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { createDify, difyId } from '../../support/dify-database.ts';
import { startService } from '../../support/harness.ts';
import { exportOf, runImport } from '../runs.ts';

/**
 * Each folder has rows of a Dify installation, `source.sql`, and what an import of them stores, skips and counts: `expected.ndjson`.
 * With UPDATE_EXPECTED=1 it is written: review the difference.
 */
const folders = readdirSync(import.meta.dirname, { withFileTypes: true }).filter((entry) => entry.isDirectory());

/** In SQL: `id(4)` is `difyId(4)`, and `sec(4)` a time. Times that are not given are always the same. */
const beginning = `
  CREATE FUNCTION id(n int) RETURNS uuid IMMUTABLE RETURN ('${difyId(0).slice(0, -4)}' || lpad(to_hex(n), 4, '0'))::uuid;
  CREATE FUNCTION sec(n float8) RETURNS timestamp IMMUTABLE RETURN to_timestamp(1750000000 + n) AT TIME ZONE 'UTC';
  DO $$ DECLARE c record; BEGIN
    FOR c IN SELECT * FROM information_schema.columns WHERE table_schema = 'public' AND column_default = 'now()' LOOP
      EXECUTE format('ALTER TABLE %I ALTER %I SET DEFAULT sec(0)', c.table_name, c.column_name);
    END LOOP;
  END $$;`;

const now = 1_760_000_000;

async function importRows(sql: string): Promise<string[]> {
  const dify = await createDify();
  const service = await startService('sqlite');
  try {
    await dify.run(`${beginning} ${sql}`);
    await dify.settle();
    const options = JSON.parse(/^-- options: (.*)$/m.exec(sql)?.[1] ?? '{}');
    const { skips, events } = await runImport(dify.url, service.store, { ...options, clock: () => now * 1000 });
    const records = await exportOf(service.store);
    const skipped = skips.map((skip) => ({ skipped: skip }));
    const counts = [...events].map(([count, n]) => ({ count, n }));
    const shorten = (_name: string, value: unknown) =>
      typeof value === 'string' && value.length > 10_000 ? `${value.length} characters` : value;
    return [...records, ...skipped, ...counts].map((line) => JSON.stringify(line, shorten));
  } finally {
    await service.close();
    await dify.close();
  }
}

describe('rows of a Dify installation', () => {
  for (const { name } of folders)
    it(`are imported as expected: ${name}`, async () => {
      const fileOf = (file: string) => new URL(`${name}/${file}`, import.meta.url);
      const lines = await importRows(readFileSync(fileOf('source.sql'), 'utf8'));
      if (process.env.UPDATE_EXPECTED !== undefined) writeFileSync(fileOf('expected.ndjson'), `${lines.join('\n')}\n`);
      const expected = readFileSync(fileOf('expected.ndjson'), 'utf8').trim().split('\n');
      assert.deepEqual(lines, expected);
      assert.doesNotMatch(lines.join('\n'), /SECRET|TOKEN|sign=/);
    });

  it('are imported also if they are many apps, in batches', async () => {
    const lines = await importRows(`INSERT INTO tenants (id, name) VALUES (id(1), 'Large');
      INSERT INTO apps (id, tenant_id, name, mode) SELECT gen_random_uuid(), id(1), n, 'chat' FROM generate_series(1, 120) n`);
    assert.equal(lines.filter((line) => line.startsWith('{"record":"app"')).length, 120);
  });
});
