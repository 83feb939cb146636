import { limits } from '../contract/limits.ts';

/** Counts per key in windows of fixed length that start with a key's first hit. Bounded in size. */
export class WindowCounter {
  readonly #windowMillis: number;
  readonly #windows = new Map<string, { until: number; count: number }>();

  constructor(windowMillis: number) {
    this.#windowMillis = windowMillis;
  }

  /** The count so far, without counting. */
  count(key: string, now: number): number {
    const window = this.#windows.get(key);
    return window === undefined || window.until <= now ? 0 : window.count;
  }

  /** Counts one and returns the count. */
  hit(key: string, now: number): number {
    const window = this.#windows.get(key);
    if (window !== undefined && window.until > now) {
      window.count += 1;
      return window.count;
    }
    this.#windows.delete(key);
    if (this.#windows.size >= limits.limiterEntriesMax) this.#makeRoom(now);
    this.#windows.set(key, { until: now + this.#windowMillis, count: 1 });
    return 1;
  }

  /** Whole seconds until a key's window ends, at least one: what `Retry-After` says. */
  secondsLeft(key: string, now: number): number {
    const until = this.#windows.get(key)?.until ?? now;
    return Math.max(1, Math.ceil((until - now) / 1000));
  }

  /** Windows stand in the order in which they started, so those that ended come first. */
  #makeRoom(now: number): void {
    for (const [key, { until }] of this.#windows) {
      if (until > now && this.#windows.size < limits.limiterEntriesMax) return;
      this.#windows.delete(key);
    }
  }
}
