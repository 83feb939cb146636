import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';

const pollMillis = 20;
/** The limit for a condition that is never met: far longer than a busy machine needs. */
const secondsMax = 60;

/** Polls until the probe returns something other than `undefined` or `false`, and returns it. */
export async function until<T>(
  probe: () => T | Promise<T>,
  stateOf: () => string = () => String(probe),
): Promise<Exclude<T, undefined | false>> {
  const deadline = performance.now() + secondsMax * 1000;
  for (;;) {
    const result = await probe();
    if (result !== undefined && result !== false) return result as Exclude<T, undefined | false>;
    if (performance.now() > deadline) throw new Error(`not reached within ${secondsMax} s: ${stateOf()}`);
    await sleep(pollMillis);
  }
}

/**
 * Reads until the value is the expected one, and fails with both if it never is. For a page that shows something step by step:
 * on a busy machine, a text that is read once may be the one before. The subject names the value in the failure.
 */
export async function untilEqual<T>(read: () => Promise<T>, expected: T, subject?: string): Promise<void> {
  const named = (value: T) => (subject === undefined ? value : { [subject]: value });
  await untilPasses(read, (found) => assert.deepEqual(named(found), named(expected)));
}

/** The same for a text that matches a pattern. */
export async function untilMatch(read: () => Promise<string | null>, pattern: RegExp): Promise<void> {
  await untilPasses(read, (found) => assert.match(found ?? '', pattern));
}

async function untilPasses<T>(read: () => Promise<T>, check: (found: T) => void): Promise<void> {
  let failure: unknown;
  const passes = async () => {
    try {
      check(await read());
      return true;
    } catch (error) {
      failure = error;
      return false;
    }
  };
  await until(passes).catch(() => {
    throw failure;
  });
}
