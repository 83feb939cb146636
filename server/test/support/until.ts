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
