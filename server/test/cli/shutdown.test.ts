import assert from 'node:assert/strict';
import { it } from 'node:test';
import { stopUnderLoad } from '../experiments/shutdown.ts';
import { onOneEngine, shortOrLong } from '../support/harness.ts';

onOneEngine('shutdown under load', (engine) => {
  it('completes every request on an open connection, then exits with 0', async (t) => {
    const findings = await stopUnderLoad(engine, { rounds: shortOrLong(1, 15) });
    for (const { promise, measured } of findings) t.diagnostic(`${promise}: ${measured}`);
    assert.ok(findings.length >= 5);
    assert.deepEqual(
      findings.filter(({ holds }) => !holds),
      [],
    );
  });
});
