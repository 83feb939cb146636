import { RecentMap } from './recent-map.ts';
import { hashOf } from './text-hash.ts';

/**
 * Detects texts that come again soon, so that only those are cached. It stores their hashes, which are numbers: a text that
 * comes once leaves nothing behind that the garbage collector has to copy and mark.
 */
export class RecentTexts {
  readonly #hashes: RecentMap<number, true>;

  /** At least the last `min` texts are remembered, at most twice as many. */
  constructor(min: number) {
    this.#hashes = new RecentMap(min);
  }

  /** Adds a text. Returns whether it was remembered or, once in a million times, another one with the same hash. */
  add(text: string): boolean {
    const hash = hashOf(text);
    const isKnown = this.#hashes.get(hash) === true;
    this.#hashes.set(hash, true);
    return isKnown;
  }
}
