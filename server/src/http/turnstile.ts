import type { onRequestHookHandler } from 'fastify';

/** Requests let through before others get a turn. */
const atOnce = 4;

/**
 * Lets writes through a few at a time. They come in crowds, since a commit ends many at once, and each takes several
 * times as long as a read: without this a read would wait for a whole crowd.
 */
export class Turnstile {
  readonly #waiting: (() => void)[] = [];
  #passed = 0;

  readonly pass: onRequestHookHandler = (_request, _reply, done) => {
    if (this.#passed === 0) setImmediate(this.#next);
    if (this.#passed < atOnce) {
      this.#passed += 1;
      done();
    } else {
      this.#waiting.push(done);
    }
  };

  /** Comes after what has arrived meanwhile. */
  readonly #next = (): void => {
    const turn = this.#waiting.splice(0, atOnce);
    this.#passed = turn.length;
    if (turn.length > 0) setImmediate(this.#next);
    for (const go of turn) go();
  };
}
