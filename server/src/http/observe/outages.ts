import { WindowCounter } from '../workers/window-counter.ts';

/** Time between two log lines about the same outage. */
const quietMillis = 60_000;

/**
 * During an outage all requests fail with the same error. It is logged when it begins and then once a minute, by one of the
 * workers.
 */
export class Outages {
  readonly #failures: WindowCounter;

  constructor(memory: SharedArrayBuffer) {
    this.#failures = new WindowCounter(memory, quietMillis);
  }

  /** Counts a failure at a time that is the same in all threads. Returns the number of failures since the last log line, or undefined if this one must not be logged. */
  count(outage: string, now: number): number | undefined {
    const { count, before } = this.#failures.hit(outage, now);
    return count > 1 ? undefined : Math.max(0, before - 1);
  }
}
