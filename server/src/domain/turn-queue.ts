/** Done in one turn of the event loop, however short it is. */
const atOnce = 4;
/** Of the time by which the last turn was longer than that: where a flood makes turns long, more is done in each. */
const share = 1 / 4;
const turnMillis = 10;

/** Does jobs a few at a time, so that others get their turns in between. They come in crowds, and each takes a while. */
export class TurnQueue {
  readonly #jobs: (() => void)[] = [];
  #isRunning = false;
  #turnBegan = 0;
  #done = 0;

  add(job: () => void): void {
    if (!this.#isRunning) {
      this.#isRunning = true;
      this.#begin(performance.now());
    }
    if (this.#jobs.length > 0 || this.#done >= atOnce) {
      this.#jobs.push(job);
      return;
    }
    this.#done += 1;
    job();
  }

  /** Those that wait. */
  get count(): number {
    return this.#jobs.length;
  }

  #begin(now: number): void {
    this.#turnBegan = now;
    this.#done = 0;
    // Comes after what has arrived meanwhile.
    setImmediate(this.#next);
  }

  readonly #next = (): void => {
    this.#isRunning = this.#jobs.length > 0;
    if (!this.#isRunning) return;
    const now = performance.now();
    const until = now + (now - this.#turnBegan - turnMillis) * share;
    this.#begin(now);
    while (this.#done < this.#jobs.length && (this.#done < atOnce || performance.now() < until)) {
      (this.#jobs[this.#done++] as () => void)();
    }
    this.#jobs.splice(0, this.#done);
  };
}
