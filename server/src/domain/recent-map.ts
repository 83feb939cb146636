/** A map of the entries that were set last: at least `max` of them, at most twice as many. Only `set` does any work. */
export class RecentMap<V> {
  readonly #max: number;
  #newer = new Map<string, V>();
  #older = new Map<string, V>();

  constructor(max: number) {
    this.#max = max;
  }

  get(key: string): V | undefined {
    return this.#newer.get(key) ?? this.#older.get(key);
  }

  set(key: string, value: V): void {
    if (this.#newer.size >= this.#max) {
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
