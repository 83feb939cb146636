import assert from 'node:assert/strict';
import { it } from 'node:test';
import { events, interruptBackups } from '../../../experiments/backups/backup-store.ts';
import { firstOrAll, shortOrLong } from '../support/long.ts';

it('a backup that is killed, or whose store fails, leaves a good one', async () => {
  for (const { promise, measured, holds } of await interruptBackups({
    every: shortOrLong(5, 1),
    bytes: 40_000,
    kinds: firstOrAll(events, 2),
  }))
    assert.ok(holds, `${promise}: ${measured}`);
});
