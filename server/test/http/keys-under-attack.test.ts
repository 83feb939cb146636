import assert from 'node:assert/strict';
import { attackKeys } from '../../../experiments/keys.ts';
import { onOneEngine } from '../support/harness.ts';
import { itLong } from '../support/long.ts';

onOneEngine('keys under attack', (engine) => {
  itLong('every promise holds', async (t) => {
    const findings = await attackKeys({ engine, addresses: 20, guesses: 1_000, floodSeconds: 10 }, (line) =>
      t.diagnostic(line),
    );
    assert.equal(findings.length, 7);
    for (const { promise, measured, holds } of findings) assert.ok(holds, `${promise}: ${measured}`);
  });
});
