import type { ServerResponse } from 'node:http';

/** Answers that are whole but that their readers have not taken yet. So much memory is theirs; the slowest are cut off. */
export class SlowReaders {
  readonly #bytesMax: number;
  /** In the order in which they were ended, with what was left of them when last looked at. */
  readonly #answers = new Map<ServerResponse, number>();
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** One that has just been ended. Most often the system has taken it by then. */
  add(response: ServerResponse): void {
    if (!response.socket?.writableLength) return;
    this.#look(response);
    if (this.#bytes <= this.#bytesMax) return;
    for (const one of this.#answers.keys()) this.#look(one);
    for (const slowest of this.#answers.keys()) {
      if (this.#bytes <= this.#bytesMax || slowest === response) return;
      this.delete(slowest);
      slowest.destroy();
    }
  }

  delete(response: ServerResponse): void {
    this.#bytes -= this.#answers.get(response) ?? 0;
    this.#answers.delete(response);
  }

  #look(response: ServerResponse): void {
    const bytes = response.socket?.writableLength ?? 0;
    this.#bytes += bytes - (this.#answers.get(response) ?? 0);
    this.#answers.set(response, bytes);
  }
}
