import type { Store } from './store.ts';

/** How often the database is checked while requests wait. Where that is one look at the data version, more often. */
const pollMillis = { withDataVersion: 25, without: 250 };

/**
 * Wakes requests that wait for changes. One timer for all of them checks whether the database may have changed; each request
 * then looks for itself.
 */
export class ChangeWatch {
  readonly #store: Store;
  readonly #waiting = new Set<() => void>();
  #timer: NodeJS.Timeout | undefined;
  #dataVersion: number | undefined;
  #isClosed = false;

  constructor(store: Store) {
    this.#store = store;
  }

  /** Resolves when the database may have changed, after this many milliseconds, or when the service stops. */
  wait(millis: number): Promise<void> {
    if (this.#isClosed) return Promise.resolve();
    return new Promise((resolve) => {
      const wake = () => {
        clearTimeout(timeout);
        this.#waiting.delete(wake);
        if (this.#waiting.size === 0) this.#stop();
        resolve();
      };
      const timeout = setTimeout(wake, millis);
      this.#waiting.add(wake);
      this.#timer ??= this.#start();
    });
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Ends all waits. */
  close(): void {
    this.#isClosed = true;
    this.#wakeAll();
  }

  #start(): NodeJS.Timeout {
    this.#dataVersion = this.#store.dataVersion();
    const { withDataVersion, without } = pollMillis;
    return setInterval(this.#check, this.#dataVersion === undefined ? without : withDataVersion);
  }

  #stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  readonly #check = (): void => {
    try {
      const dataVersion = this.#store.dataVersion();
      if (dataVersion !== undefined && dataVersion === this.#dataVersion) return;
    } catch {
      // The request itself reports that the database is not available.
    }
    this.#wakeAll();
  };

  #wakeAll(): void {
    for (const wake of [...this.#waiting]) wake();
  }
}
