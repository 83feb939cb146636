import assert from 'node:assert/strict';
import { it } from 'node:test';
import { attackKeys } from '../experiments/keys.ts';
import { onOneEngine } from '../support/harness.ts';
import { shortOrLong } from '../support/long.ts';

onOneEngine('keys under attack', (engine) => {
  it('every promise holds', async (t) => {
    const findings = await attackKeys(
      { engine, addresses: shortOrLong(3, 20), guesses: shortOrLong(130, 1_000), floodSeconds: shortOrLong(1, 10) },
      (line) => t.diagnostic(line),
    );
    assert.equal(findings.length, 7);
    for (const { promise, measured, holds } of findings) assert.ok(holds, `${promise}: ${measured}`);
  });
});
