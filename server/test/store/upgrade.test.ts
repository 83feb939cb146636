import assert from 'node:assert/strict';
import { it } from 'node:test';
import { killMigrations, olderVersions } from '../experiments/upgrade.ts';
import { onEveryEngine, shortOrLong } from '../support/harness.ts';

onEveryEngine('migrations', (engine) => {
  it('leave a complete schema when several are killed at once, and the next one completes', async (t) => {
    const findings = await killMigrations(engine, {
      // An empty database, the first schema and, of the others, the newest or all.
      versions: [...olderVersions.slice(0, 2), ...olderVersions.slice(-shortOrLong(1, olderVersions.length - 2))],
      rounds: shortOrLong(1, 5),
      migrators: shortOrLong(2, 3),
      waits: shortOrLong(0, 1),
      messages: 50,
    });
    for (const { promise, measured } of findings) t.diagnostic(`${promise}: ${measured}`);
    assert.ok(findings.length >= 3);
    assert.deepEqual(
      findings.filter(({ holds }) => !holds),
      [],
    );
  });
});
