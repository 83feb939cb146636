import { limits } from '../../contract/limits.ts';
import { unavailable } from '../../domain/errors.ts';
import { isClosed, sqliteCode, transientSqliteCodes } from '../disk-errors.ts';

/** Runs a read. An error that may not occur again becomes a 503. */
export function orUnavailable<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!isClosed(error) && !transientSqliteCodes.includes(sqliteCode(error) ?? 0)) throw error;
    throw Object.assign(unavailable('the database is not available'), { cause: error });
  }
}

/**
 * Bounds how long a thread reads in one tick of the event loop. Further reads wait for the next ticks, in order, so that other
 * requests run in between, however many requests read.
 */
export class ReadTurns {
  readonly #waiting: (() => void)[] = [];
  #spentMillis = 0;
  #isTicking = false;

  async run<T>(read: () => T): Promise<T> {
    if (this.#spentMillis < limits.readTickMillis && this.#waiting.length === 0) return this.#measure(read);
    return new Promise((resolve, reject) => {
      this.#waiting.push(() => {
        try {
          resolve(this.#measure(read));
        } catch (error) {
          reject(error);
        }
      });
    });
  }

  #measure<T>(read: () => T): T {
    const start = performance.now();
    try {
      return orUnavailable(read);
    } finally {
      this.#spentMillis += performance.now() - start;
      if (!this.#isTicking) this.#startTick();
    }
  }

  #startTick(): void {
    this.#isTicking = true;
    setImmediate(this.#endTick);
  }

  readonly #endTick = (): void => {
    this.#spentMillis = 0;
    this.#isTicking = false;
    if (this.#waiting.length > 0) this.#startTick();
    while (this.#spentMillis < limits.readTickMillis) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      next();
    }
  };
}
