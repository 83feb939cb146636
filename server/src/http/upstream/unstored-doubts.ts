import { setTimeout as sleep } from 'node:timers/promises';
import type { Doubt } from '../../domain/store/doubts.ts';
import type { Store } from '../../domain/store/store.ts';

/** Time until an object is put in doubt again, if that has failed. */
const doubtRetryMillis = 1_000;

/** A power of two. */
const slots = 1_024;

/**
 * Doubts of all workers that are not in the database yet, counted by id in shared memory. A worker that has died loses its
 * own. Different ids may have the same count: then more than necessary is passed on.
 */
export class UnstoredDoubts {
  readonly #counts: Int32Array<SharedArrayBuffer>;
  readonly #part: number;

  static bytes = (workers: number): number => workers * slots * Int32Array.BYTES_PER_ELEMENT;

  constructor(memory: SharedArrayBuffer, worker: number) {
    this.#counts = new Int32Array(memory);
    this.#part = worker * slots;
    this.#counts.fill(0, this.#part, this.#part + slots);
  }

  /** Stores a doubt, which counts at once and until it is in the database. Tries until the signal. */
  async store(doubt: Doubt, store: Store, signal: AbortSignal): Promise<void> {
    const ids = [doubt.scope, doubt.conversation_id || doubt.scope];
    for (const id of ids) this.add(id, 1);
    while (!signal.aborted) {
      try {
        await store.run('addDoubts', [doubt]);
        for (const id of ids) this.add(id, -1);
        return;
      } catch {
        await sleep(doubtRetryMillis, undefined, { ref: false });
      }
    }
  }

  add(id: string, count: 1 | -1): void {
    Atomics.add(this.#counts, this.#part + slotOf(id), count);
  }

  has(id: string): boolean {
    for (let at = slotOf(id); at < this.#counts.length; at += slots) {
      if (Atomics.load(this.#counts, at) > 0) return true;
    }
    return false;
  }
}

/** From the last digits of a UUID, in either case; any slot for another text, also of `-8-c`, which is read as a negative number. */
const slotOf = (id: string): number => Number.parseInt(id.slice(-4), 16) & (slots - 1);
