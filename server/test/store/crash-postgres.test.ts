import assert from 'node:assert/strict';
import { it } from 'node:test';
import { killPostgres } from '../../../experiments/crash-postgres.ts';
import { isLong } from '../support/long.ts';

// Without TEST_LONG, `postgres-faults.test.ts` kills PostgreSQL under load.
if (isLong) {
  it('loses no acknowledged write and leaves no partial one when PostgreSQL is killed in three ways under load', async (t) => {
    const findings = await killPostgres({ kills: 18, checkEvery: 3 });
    for (const { promise, measured } of findings) t.diagnostic(`${promise}: ${measured}`);
    assert.ok(findings.length >= 4);
    assert.deepEqual(
      findings.filter(({ holds }) => !holds),
      [],
    );
  });
}
