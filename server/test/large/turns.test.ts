import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import { setImmediate as nextTick } from 'node:timers/promises';
import { nextTurn } from '../../src/domain/large-text.ts';

/** A clock that only moves with work in the event loop: `millis` in each of so many ticks. Returns the number of ticks so far. */
function workFor(t: TestContext, ticks: number, millis: number): () => number {
  let [done, now] = [0, 0];
  t.mock.method(performance, 'now', () => now);
  const work = (): void => {
    done += 1;
    if (done > ticks) return;
    now += millis;
    setImmediate(work);
  };
  setImmediate(work);
  return () => done;
}

it('a turn begins when the event loop has nothing else to do', async (t) => {
  const done = workFor(t, 40, 1);
  await nextTurn();
  assert.ok(done() > 40, `after ${done()} ticks`);
});

it('a turn begins after 50 ms, however much there is to do', async (t) => {
  const done = workFor(t, 1_000, 1);
  await nextTurn();
  assert.ok(done() > 50 && done() < 60, `after ${done()} ticks`);
});

it('those that wait take turns, in their order', async () => {
  const order: string[] = [];
  const take = async (name: string) => {
    for (let slice = 1; slice <= 3; slice += 1) {
      await nextTurn();
      order.push(`${name}${slice}`);
    }
  };
  const taken = Promise.all([take('a'), take('b')]);
  for (let tick = 0; tick < 2; tick += 1) await nextTick();
  assert.ok(order.length <= 1, 'one in a tick at most');
  await taken;
  assert.deepEqual(order, ['a1', 'b1', 'a2', 'b2', 'a3', 'b3']);
});
