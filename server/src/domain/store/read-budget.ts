import { setImmediate as nextTick, setTimeout as sleep } from 'node:timers/promises';
import { limits } from '../../contract/limits.ts';
import { clientDisconnected } from '../errors.ts';

/** A pattern of hundreds of words can take this long to compare with one text. */
const longMillis = 10;

/** Limits of the reads of one search. When they are reached, the search returns the hits so far. */
export class ReadBudget {
  readonly #signal: AbortSignal;
  readonly #end = performance.now() + limits.searchMillisMax;
  #bytes: number = limits.searchBytesMax;

  /** `signal` aborts when the client disconnects. */
  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  get isSpent(): boolean {
    return this.#bytes <= 0 || performance.now() >= this.#end;
  }

  /**
   * Runs the parts of some work. Between those of large work, other work of the thread runs for as long as a part took; after
   * any other part that took long, what is waiting runs.
   */
  async run<T>(parts: Generator<undefined, T>, isLarge: boolean): Promise<T> {
    for (;;) {
      const startedAt = performance.now();
      const { done, value } = parts.next();
      const millis = performance.now() - startedAt;
      if (isLarge && !done) await sleep(Math.ceil(millis));
      else if (millis > longMillis) await nextTick();
      if (done) return value;
    }
  }

  /** To be called for each statement. Other work of the thread runs meanwhile. Throws if the client has disconnected. */
  async spend(bytes: number): Promise<void> {
    this.#bytes -= bytes;
    await nextTick();
    if (this.#signal.aborted) throw clientDisconnected();
  }
}
