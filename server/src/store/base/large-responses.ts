import { limits } from '../../contract/limits.ts';
import { clientDisconnected, unavailable } from '../../domain/errors.ts';
import type { Opened } from '../../domain/large-text.ts';
import type { MessagePosition, PageShape } from '../../domain/store/store.ts';

/** The memory in which the threads of a process count the slots in use: all of them, then those of each thread. */
export type SlotMemory = { counts: Int32Array<SharedArrayBuffer>; thread: number };

export const slotCounts = (threads: number): Int32Array<SharedArrayBuffer> =>
  new Int32Array(new SharedArrayBuffer((1 + threads) * Int32Array.BYTES_PER_ELEMENT));

/**
 * Slots for responses that are streamed, or for lists that read many rows. Each holds a snapshot, and on PostgreSQL a
 * connection, until its client has read it, so there are few slots. Requests of a thread wait in the order of arrival, and
 * threads wait in the order in which they began to.
 */
export class Slots {
  readonly #slotsMax: number;
  readonly #threadMax: number;
  readonly #counts: Int32Array<SharedArrayBuffer>;
  readonly #own: number;
  readonly #waiting = new Set<() => void>();
  #isServing = false;

  /** `slotsMax`: of all threads that share the memory; `threadMax`: of this one. */
  constructor(
    slotsMax: number,
    threadMax = slotsMax,
    { counts, thread }: SlotMemory = { counts: slotCounts(1), thread: 0 },
  ) {
    this.#slotsMax = slotsMax;
    this.#threadMax = threadMax;
    this.#counts = counts;
    this.#own = 1 + thread;
    // A thread that has died cannot release its slots.
    this.#add(-this.#held);
    Atomics.notify(counts, 0);
  }

  /** Opens what holds a snapshot until it is closed. */
  async open<S extends { close(): void } | undefined>(openSnapshot: () => Promise<S>, signal: AbortSignal): Promise<S> {
    const release = await this.acquire(signal);
    const opened = await openSnapshot().catch((error: Error) => {
      release();
      throw error;
    });
    if (opened === undefined) {
      release();
      return opened;
    }
    let isOpen = true;
    const close = () => {
      if (isOpen) opened.close();
      isOpen = false;
      release();
    };
    return { ...opened, close };
  }

  /** The snapshot of these parts begins with the first. A generator that is waiting for rows ends when it has them. */
  openParts<T>(chunks: AsyncGenerator<T>, signal: AbortSignal): Promise<Opened<T>> {
    const close = () => void chunks.return(undefined).catch(() => undefined);
    return this.open(async () => ({ chunks, close }), signal);
  }

  async run<T>(job: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const release = await this.acquire(signal);
    try {
      return await job();
    } finally {
      release();
    }
  }

  /** Returns a function that releases the slot. Calling it twice is harmless. */
  async acquire(signal: AbortSignal): Promise<() => void> {
    if (signal.aborted) throw clientDisconnected();
    const release = this.acquireNow();
    if (release !== undefined) return release;
    await this.#wait(signal);
    return this.#releaseOnce();
  }

  /** Undefined if none is free. */
  acquireNow(): (() => void) | undefined {
    return this.#waiting.size === 0 && this.#take() ? this.#releaseOnce() : undefined;
  }

  #releaseOnce(): () => void {
    let isHeld = true;
    return () => {
      if (isHeld) this.#release();
      isHeld = false;
    };
  }

  #wait(signal: AbortSignal): Promise<void> {
    return new Promise<void>((resolve, reject) => {
      const end = (settle: () => void) => {
        this.#waiting.delete(proceed);
        clearTimeout(timer);
        signal.removeEventListener('abort', abort);
        settle();
      };
      const proceed = () => end(resolve);
      const abort = () => end(() => reject(clientDisconnected()));
      const timeOut = () => end(() => reject(unavailable('too many large pages or long lists are being read')));
      const timer = setTimeout(timeOut, limits.largePageWaitMillisMax);
      signal.addEventListener('abort', abort);
      this.#waiting.add(proceed);
      void this.#serve();
    });
  }

  /** Gives free slots to the requests that wait, those first that have waited longest. */
  async #serve(): Promise<void> {
    if (this.#isServing) return;
    this.#isServing = true;
    while (this.#waiting.size > 0 && this.#held < this.#threadMax) {
      if (this.#take()) {
        const [next] = this.#waiting;
        next?.();
        continue;
      }
      // Another thread may release a slot.
      const change = Atomics.waitAsync(this.#counts, 0, this.#slotsMax, limits.largePageWaitMillisMax);
      if (change.async) await change.value;
    }
    this.#isServing = false;
    // The request for which this thread was woken may have left.
    Atomics.notify(this.#counts, 0, 1);
  }

  #release(): void {
    this.#add(-1);
    Atomics.notify(this.#counts, 0, 1);
    if (this.#waiting.size > 0) void this.#serve();
  }

  #take(): boolean {
    if (this.#held >= this.#threadMax) return false;
    for (;;) {
      const inUse = Atomics.load(this.#counts, 0);
      if (inUse >= this.#slotsMax) return false;
      if (Atomics.compareExchange(this.#counts, 0, inUse, inUse + 1) === inUse) break;
    }
    this.#counts[this.#own] = this.#held + 1;
    return true;
  }

  /** Only this thread writes its part. */
  get #held(): number {
    return this.#counts[this.#own] ?? 0;
  }

  #add(slots: number): void {
    Atomics.add(this.#counts, 0, slots);
    this.#counts[this.#own] = this.#held + slots;
  }
}

/** The messages of a page in its order, from rows that are newest first and may have one message more than the page. */
export function pageOfRows(rows: readonly MessagePosition[], { limit, page_order }: PageShape) {
  const newest = rows.slice(0, limit);
  const next = rows.length > limit ? newest.at(-1)?.id : undefined;
  return { messages: page_order === 'newest_first' ? newest : newest.toReversed(), next };
}
