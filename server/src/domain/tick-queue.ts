/** Jobs that are run in every tick of the event loop. */
const jobsPerTick = 4;
/** A tick longer than `tickMillis` is a sign of a burst: the next tick then runs jobs for this part of the excess time. */
const excessShare = 1 / 4;
const tickMillis = 10;

/** Runs a few jobs in each tick of the event loop, so that a burst of jobs does not delay other work. */
export class TickQueue {
  readonly #jobs: (() => void)[] = [];
  #isRunning = false;
  #tickStarted = 0;
  #doneInTick = 0;

  add(job: () => void): void {
    if (!this.#isRunning) {
      this.#isRunning = true;
      this.#startTick(performance.now());
    }
    if (this.#jobs.length > 0 || this.#doneInTick >= jobsPerTick) {
      this.#jobs.push(job);
      return;
    }
    this.#doneInTick += 1;
    job();
  }

  /** The number of waiting jobs. */
  get count(): number {
    return this.#jobs.length;
  }

  #startTick(now: number): void {
    this.#tickStarted = now;
    this.#doneInTick = 0;
    // Runs after the events that have arrived in the meantime.
    setImmediate(this.#runTick);
  }

  readonly #runTick = (): void => {
    this.#isRunning = this.#jobs.length > 0;
    if (!this.#isRunning) return;
    const now = performance.now();
    const until = now + (now - this.#tickStarted - tickMillis) * excessShare;
    this.#startTick(now);
    while (this.#doneInTick < this.#jobs.length && (this.#doneInTick < jobsPerTick || performance.now() < until)) {
      (this.#jobs[this.#doneInTick++] as () => void)();
    }
    this.#jobs.splice(0, this.#doneInTick);
  };
}
