import type { TextKey } from './text-key.ts';

type Entry<V> = { text: string; value: V };

/** A map of the entries that were set last: at least `min` of them, at most twice as many. `set` evicts older ones. */
export class RecentMap<V> {
  readonly #min: number;
  #newer = new Map<number, Entry<V>>();
  #older = new Map<number, Entry<V>>();

  constructor(min: number) {
    this.#min = min;
  }

  get({ text, hash }: TextKey): V | undefined {
    const entry = this.#newer.get(hash) ?? this.#older.get(hash);
    return entry?.text === text ? entry.value : undefined;
  }

  /** Also evicts an entry whose key has the same hash. */
  set({ text, hash }: TextKey, value: V): void {
    if (this.#newer.size >= this.#min) {
      this.#older = this.#newer;
      this.#newer = new Map();
    }
    this.#newer.set(hash, { text, value });
  }

  delete({ hash }: TextKey): void {
    this.#newer.delete(hash);
    this.#older.delete(hash);
  }
}
