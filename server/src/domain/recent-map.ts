/** A map of the entries that were set last: at least `min` of them, at most twice as many. `set` evicts older ones. */
export class RecentMap<V> {
  readonly #min: number;
  #newer = new Map<string, V>();
  #older = new Map<string, V>();

  constructor(min: number) {
    this.#min = min;
  }

  get(key: string): V | undefined {
    return this.#newer.get(key) ?? this.#older.get(key);
  }

  set(key: string, value: V): void {
    if (this.#newer.size >= this.#min) {
      this.#older = this.#newer;
      this.#newer = new Map();
    }
    this.#newer.set(key, value);
  }

  delete(key: string): void {
    this.#newer.delete(key);
    this.#older.delete(key);
  }
}
