import assert from 'node:assert/strict';
import { it } from 'node:test';
import { killPostgres } from '../../torture/crash-postgres.ts';
import { shortOrLong } from '../support/harness.ts';

it('PostgreSQL with fsync, killed in three ways under load: nothing is lost or half done', async (t) => {
  const findings = await killPostgres({ kills: shortOrLong(3, 18), auditEvery: 3 });
  for (const { promise, measured } of findings) t.diagnostic(`${promise}: ${measured}`);
  assert.ok(findings.length >= 4);
  assert.deepEqual(
    findings.filter(({ holds }) => !holds),
    [],
  );
});
