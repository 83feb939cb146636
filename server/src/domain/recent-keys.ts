import type { TextKey } from './text-key.ts';

/**
 * Detects keys that come again soon, so that only what belongs to them is cached. It stores their hashes alone: a key that comes
 * once leaves nothing that the garbage collector has to copy and mark.
 */
export class RecentKeys {
  readonly #min: number;
  #newer = new Set<number>();
  #older = new Set<number>();

  /** At least the last `min` keys are remembered, at most twice as many. */
  constructor(min: number) {
    this.#min = min;
  }

  /** Adds a key. Returns whether it was remembered or, very rarely, another one with the same hash. */
  add({ hash }: TextKey): boolean {
    if (this.#newer.has(hash)) return true;
    if (this.#newer.size >= this.#min) {
      this.#older = this.#newer;
      this.#newer = new Set();
    }
    this.#newer.add(hash);
    return this.#older.has(hash);
  }
}
