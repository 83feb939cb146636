/** Each part has its own cache line, so that workers do not slow each other down. */
const stride = 16;

/**
 * A sum to which all workers add. The part of each worker is stored too, so that it can be removed when the worker has died:
 * its successor starts with 0.
 */
export class SharedSum {
  readonly #values: Int32Array<SharedArrayBuffer>;
  readonly #part: number;

  static bytes = (workers: number): number => (workers + 1) * stride * Int32Array.BYTES_PER_ELEMENT;

  constructor(memory: SharedArrayBuffer, worker: number) {
    this.#values = new Int32Array(memory);
    this.#part = (worker + 1) * stride;
    this.add(-(this.#values[this.#part] ?? 0));
  }

  get total(): number {
    return Atomics.load(this.#values, 0);
  }

  add(amount: number): void {
    Atomics.add(this.#values, 0, amount);
    this.#addToPart(amount);
  }

  /** Adds 1, unless the sum would exceed `max`. Returns whether it was added. */
  tryIncrement(max: number): boolean {
    if (Atomics.add(this.#values, 0, 1) < max) {
      this.#addToPart(1);
      return true;
    }
    Atomics.sub(this.#values, 0, 1);
    return false;
  }

  /** Only this worker writes its part. */
  #addToPart(amount: number): void {
    this.#values[this.#part] = (this.#values[this.#part] ?? 0) + amount;
  }
}
