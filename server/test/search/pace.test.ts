import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { IndexPace, indexBusyMillis, indexShareMax } from '../../src/domain/search/index-pace.ts';

/** Of a step: what it takes besides its records, and for each record. */
const fixedMillis = 6;
const recordMillis = 0.08;

/** Simulates an indexer beside writers of this many messages a second. Returns its largest lag after the start, and its share of the time. */
function simulate(messagesPerSecond: number, seconds: number, lagAtStart = 0) {
  const pace = new IndexPace();
  const lagOf = (now: number, indexed: number) => now / 1_000 + lagAtStart - indexed / messagesPerSecond;
  let [now, indexed, worked, lagMax, position] = [0, 0, 0, 0, 0];
  while (now < seconds * 1_000) {
    const arrived = (now / 1_000 + lagAtStart) * messagesPerSecond;
    const records = Math.min(Math.floor(arrived - indexed), (2 * indexBusyMillis) / recordMillis);
    const millis = fixedMillis + records * recordMillis;
    [now, indexed, worked, position] = [now + millis, indexed + records, worked + millis, Math.floor(arrived)];
    const step = { millis, workedMillis: records * recordMillis, records };
    pace.note(step, { position, unsequenced: Math.ceil((messagesPerSecond * millis) / 1_000) }, now);
    assert.ok(pace.isBusy);
    now += pace.pauseMillis(step, lagOf(now, indexed));
    if (now > (seconds * 1_000) / 2) lagMax = Math.max(lagMax, lagOf(now, indexed));
  }
  return { lagMax, share: worked / now };
}

describe('the pace of the indexer while others write', () => {
  it('takes a fortieth of the time for 200 messages a second', () => {
    const { lagMax, share } = simulate(200, 60);
    assert.ok(lagMax < 3, `${lagMax} s`);
    assert.ok(share < 1 / 20, `${share}`);
  });

  it('keeps up with 1,000 and 2,500 messages a second', () => {
    for (const messages of [1_000, 2_500]) {
      const { lagMax, share } = simulate(messages, 60);
      assert.ok(lagMax < 10, `${lagMax} s`);
      assert.ok(share <= indexShareMax, `${share}`);
    }
  });

  it('catches up after a backlog', () => {
    assert.ok(simulate(200, 60, 30).lagMax < 10);
  });

  it('falls behind rather than slow down writers with which it cannot keep up', () => {
    const { lagMax, share } = simulate(10_000, 60);
    assert.ok(lagMax > 20, `${lagMax} s`);
    assert.ok(share < 1 / 20, `${share}`);
  });
});
