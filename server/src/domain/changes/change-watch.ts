import type { Store } from '../store/store.ts';

/** Interval of checks of the database while requests wait. It is shorter where a check only reads the data version. */
const pollMillis = { withDataVersion: 25, without: 250 };

/**
 * Wakes requests that wait for changes. One timer for all of them checks whether the database may have changed since the last
 * check; each request then looks for itself.
 */
export class ChangeWatch {
  readonly #store: Store;
  readonly #waiting = new Set<() => void>();
  #timer: NodeJS.Timeout | undefined;
  #isChecking = false;
  /** The state of the database at the last check. It outlives the timer: a change between two waits is noticed. */
  #lastState: string | undefined;
  #isClosed = false;
  #outboxReadAt = Number.NEGATIVE_INFINITY;

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
    const { withDataVersion, without } = pollMillis;
    return setInterval(this.#check, this.#hasDataVersion() ? withDataVersion : without);
  }

  /** Reading it fails only where there is one: then the database was closed, or its file cannot be read. */
  #hasDataVersion(): boolean {
    try {
      return this.#store.dataVersion() !== undefined;
    } catch {
      return true;
    }
  }

  #stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  readonly #check = async (): Promise<void> => {
    if (this.#isChecking) return;
    this.#isChecking = true;
    // If the database is not available, the requests themselves report it.
    const state = await this.#readState().catch(() => undefined);
    this.#isChecking = false;
    if (state !== undefined && state === this.#lastState) return;
    this.#lastState = state;
    this.#wakeAll();
  };

  /** Undefined if there are outbox entries: they have to be sequenced. */
  async #readState(): Promise<string | undefined> {
    const dataVersion = this.#store.dataVersion();
    if (dataVersion !== undefined) return `${dataVersion}`;
    const { changes } = this.#store;
    const { epoch, position } = await changes.head();
    const now = performance.now();
    const isDue = now - this.#outboxReadAt >= changes.outboxMillis;
    if (isDue) this.#outboxReadAt = now;
    // The head moves when a reader or the service sequences the entries.
    return isDue && (await changes.hasUnsequenced()) ? undefined : `${epoch}.${position}`;
  }

  #wakeAll(): void {
    for (const wake of [...this.#waiting]) wake();
  }
}
