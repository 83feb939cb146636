import assert from 'node:assert/strict';
import { it } from 'node:test';
import { attackKeys } from '../../torture/keys.ts';
import { onEveryEngine } from '../support/harness.ts';

onEveryEngine('keys under attack', (engine) => {
  it('every promise holds', async (t) => {
    const findings = await attackKeys({ engine, addresses: 3, guesses: 130, hammerSeconds: 1 }, (line) =>
      t.diagnostic(line),
    );
    assert.equal(findings.length, 7);
    for (const { promise, measured, holds } of findings) assert.ok(holds, `${promise}: ${measured}`);
  });
});
