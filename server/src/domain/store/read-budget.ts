import { setImmediate as nextTick, setTimeout as sleep } from 'node:timers/promises';
import { limits } from '../../contract/limits.ts';
import { clientDisconnected } from '../errors.ts';

/** What one search may read. When the budget is spent, the search returns what it has found. */
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

  /** To be called after work on a large text. Other work of the thread runs for as long as that took. */
  async rest(workedMillis: number): Promise<void> {
    await sleep(Math.ceil(workedMillis));
  }

  /** To be called for each statement. Other work of the thread runs meanwhile. Throws if the client has disconnected. */
  async spend(bytes: number): Promise<void> {
    this.#bytes -= bytes;
    await nextTick();
    if (this.#signal.aborted) throw clientDisconnected();
  }
}
