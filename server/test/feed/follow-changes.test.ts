import assert from 'node:assert/strict';
import { it } from 'node:test';
import { ChangeWatch } from '../../src/domain/changes/change-watch.ts';
import { followChanges } from '../../src/domain/changes/follow-changes.ts';
import type { ChangeSelection } from '../../src/domain/store/change-reads.ts';
import type { Store } from '../../src/domain/store/store.ts';
import { databaseAt, newMigratedUrl, onEveryEngine } from '../support/harness.ts';

/** A feed in which a change that the reader may not see comes every 3 seconds, by a clock that moves only while it waits. */
function feedOfOthers() {
  let now = 0;
  const watch = {
    isClosed: false,
    wait: async (millis: number) => {
      now += Math.min(millis, 3_000 - (now % 3_000));
    },
  };
  const next = () => ({ position: now });
  const changes = {
    head: async () => ({ epoch: 'e', position: now }),
    read: async () => ({ changes: [], next: next(), hasMore: false, bytes: 0, close: () => undefined }),
    hasNews: async () => now % 3_000 === 0,
  };
  return { clock: () => now, watch: watch as ChangeWatch, store: { changes } as unknown as Store };
}

it('a reader that others wake again and again gets its heartbeats in time, and its key is checked in time', async () => {
  const { clock, watch, store } = feedOfOthers();
  const selection = { signal: new AbortController().signal } as ChangeSelection;
  const checks: number[] = [];
  const heartbeats: number[] = [];
  const mayContinue = async () => checks.push(clock()) < 12;
  const options = { watch, waitMillis: 3_600_000, checkMillis: 4_000, heartbeatMillis: 15_000, clock, mayContinue };
  for await (const page of followChanges(store, { epoch: 'e', position: 0 }, selection, options)) {
    page.close();
    heartbeats.push(clock());
  }
  assert.deepEqual(
    checks,
    Array.from({ length: 12 }, (_, at) => 4_000 * (at + 1)),
  );
  assert.deepEqual(heartbeats, [0, 15_000, 30_000, 45_000]);
});

onEveryEngine('a wait for changes', (engine) => {
  it('ends in time if the database is closed or cannot be read, and fails no one', async (t) => {
    const { url, remove } = await newMigratedUrl(engine);
    t.after(remove);
    const database = databaseAt(url);
    await database.migrate(0);
    const store = await database.open();
    const watch = new ChangeWatch(store);
    await store.close();
    await watch.wait(1);
    await watch.wait(100);
  });
});
