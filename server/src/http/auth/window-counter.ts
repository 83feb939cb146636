import { limits } from '../../contract/limits.ts';

type Window = { until: number; count: number };

/** Counts per key in windows of fixed length that start with a key's first hit. Bounded in size. */
export class WindowCounter {
  readonly #windowMillis: number;
  readonly #windows = new Map<string, Window>();

  constructor(windowMillis: number) {
    this.#windowMillis = windowMillis;
  }

  /** The count so far, without counting. */
  count(key: string, now: number): number {
    return this.#open(key, now)?.count ?? 0;
  }

  /** Counts one and returns the count. */
  hit(key: string, now: number): number {
    const window = this.#open(key, now);
    if (window !== undefined) {
      window.count += 1;
      return window.count;
    }
    this.#windows.delete(key);
    if (this.#windows.size >= limits.limiterEntriesMax) this.#makeRoom(now);
    this.#windows.set(key, { until: now + this.#windowMillis, count: 1 });
    return 1;
  }

  /** Whole seconds until a key's window ends, or would if it began now: what `Retry-After` says. */
  secondsLeft(key: string, now: number): number {
    const until = this.#open(key, now)?.until ?? now + this.#windowMillis;
    return Math.ceil((until - now) / 1000);
  }

  /** Undefined where it has ended, or would begin in the future: then the clock was set back, which shuts nobody out. */
  #open(key: string, now: number): Window | undefined {
    const window = this.#windows.get(key);
    return window !== undefined && window.until > now && window.until - this.#windowMillis <= now ? window : undefined;
  }

  /** Windows stand in the order in which they started, so those that ended come first. */
  #makeRoom(now: number): void {
    for (const [key, { until }] of this.#windows) {
      if (until > now && this.#windows.size < limits.limiterEntriesMax) return;
      this.#windows.delete(key);
    }
  }
}
