import type { ServerResponse } from 'node:http';

/** Answers that are whole but that their readers have not taken yet. So much memory is theirs; the slowest are cut off. */
export class UnreadAnswers {
  readonly #bytesMax: number;
  /** In the order in which they were ended, with what was left of them when last looked at. */
  readonly #answers = new Map<ServerResponse, number>();
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** One that has just been ended. Most often the system has taken it by then. */
  add(answer: ServerResponse): void {
    if (!answer.socket?.writableLength) return;
    this.#look(answer);
    if (this.#bytes <= this.#bytesMax) return;
    for (const one of this.#answers.keys()) this.#look(one);
    for (const slowest of this.#answers.keys()) {
      if (this.#bytes <= this.#bytesMax || slowest === answer) return;
      this.delete(slowest);
      slowest.destroy();
    }
  }

  delete(answer: ServerResponse): void {
    this.#bytes -= this.#answers.get(answer) ?? 0;
    this.#answers.delete(answer);
  }

  #look(answer: ServerResponse): void {
    const bytes = answer.socket?.writableLength ?? 0;
    this.#bytes += bytes - (this.#answers.get(answer) ?? 0);
    this.#answers.set(answer, bytes);
  }
}
