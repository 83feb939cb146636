import assert from 'node:assert/strict';
import { it } from 'node:test';
import { killPostgres } from '../experiments/crash-postgres.ts';
import { shortOrLong } from '../support/harness.ts';

it('loses no acknowledged write and leaves no partial one when PostgreSQL is killed in three ways under load', async (t) => {
  const findings = await killPostgres({ kills: shortOrLong(3, 18), checkEvery: 3 });
  for (const { promise, measured } of findings) t.diagnostic(`${promise}: ${measured}`);
  assert.ok(findings.length >= 4);
  assert.deepEqual(
    findings.filter(({ holds }) => !holds),
    [],
  );
});
