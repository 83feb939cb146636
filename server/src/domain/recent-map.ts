/** A map of the entries that were set last: at least `min` of them, at most twice as many. `set` evicts older ones. */
export class RecentMap<K, V> {
  readonly #min: number;
  #newer = new Map<K, V>();
  #older = new Map<K, V>();

  constructor(min: number) {
    this.#min = min;
  }

  get(key: K): V | undefined {
    return this.#newer.get(key) ?? this.#older.get(key);
  }

  set(key: K, value: V): void {
    if (this.#newer.size >= this.#min) {
      this.#older = this.#newer;
      this.#newer = new Map();
    }
    this.#newer.set(key, value);
  }

  delete(key: K): void {
    this.#newer.delete(key);
    this.#older.delete(key);
  }
}
