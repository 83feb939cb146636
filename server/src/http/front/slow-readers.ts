import type { ServerResponse } from 'node:http';

/** Complete responses that clients have not read yet. Their memory is bounded: beyond the limit the oldest are aborted. */
export class SlowReaders {
  readonly #bytesMax: number;
  /** In the order in which they ended, each with its number of unsent bytes when last measured. */
  readonly #responses = new Map<ServerResponse, number>();
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Adds a response that has just ended. Usually the operating system has already taken all of it. */
  add(response: ServerResponse): void {
    if (!response.socket?.writableLength) return;
    this.#measure(response);
    if (this.#bytes <= this.#bytesMax) return;
    for (const one of this.#responses.keys()) this.#measure(one);
    for (const slowest of this.#responses.keys()) {
      if (this.#bytes <= this.#bytesMax || slowest === response) return;
      this.delete(slowest);
      slowest.destroy();
    }
  }

  delete(response: ServerResponse): void {
    this.#bytes -= this.#responses.get(response) ?? 0;
    this.#responses.delete(response);
  }

  #measure(response: ServerResponse): void {
    const bytes = response.socket?.writableLength ?? 0;
    this.#bytes += bytes - (this.#responses.get(response) ?? 0);
    this.#responses.set(response, bytes);
  }
}
