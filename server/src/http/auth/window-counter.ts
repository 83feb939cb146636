import { limits } from '../../contract/limits.ts';

type Window = { until: number; count: number };

/** Counts hits by key, in windows of fixed length that start with the key's first hit. The number of keys is bounded. */
export class WindowCounter {
  readonly #windowMillis: number;
  readonly #windows = new Map<string, Window>();

  constructor(windowMillis: number) {
    this.#windowMillis = windowMillis;
  }

  /** The count so far. */
  count(key: string, now: number): number {
    return this.#current(key, now)?.count ?? 0;
  }

  /** Adds one and returns the count. */
  hit(key: string, now: number): number {
    const window = this.#current(key, now);
    if (window !== undefined) {
      window.count += 1;
      return window.count;
    }
    this.#windows.delete(key);
    if (this.#windows.size >= limits.limiterEntriesMax) this.#evict(now);
    this.#windows.set(key, { until: now + this.#windowMillis, count: 1 });
    return 1;
  }

  /** Whole seconds until a key's window ends, or would end if it started now: the value of `Retry-After`. */
  secondsLeft(key: string, now: number): number {
    const until = this.#current(key, now)?.until ?? now + this.#windowMillis;
    return Math.ceil((until - now) / 1000);
  }

  /** Undefined if the window has ended, or starts in the future: then the clock was set back, which must not block a client. */
  #current(key: string, now: number): Window | undefined {
    const window = this.#windows.get(key);
    return window !== undefined && window.until > now && window.until - this.#windowMillis <= now ? window : undefined;
  }

  /** Windows are in the order in which they started, so those that have ended come first. */
  #evict(now: number): void {
    for (const [key, { until }] of this.#windows) {
      if (until > now && this.#windows.size < limits.limiterEntriesMax) return;
      this.#windows.delete(key);
    }
  }
}
