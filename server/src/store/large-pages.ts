import { limits } from '../contract/limits.ts';
import { clientDisconnected, unavailable } from '../domain/errors.ts';

/**
 * Slots for pages that are streamed, or for lists that read many rows. An open page holds a snapshot, and on PostgreSQL a
 * connection, until its client has read it, so there are few slots. Requests wait for a slot in the order of arrival.
 */
export class LargePages {
  readonly #waiting = new Set<() => void>();
  #free: number;

  constructor(slots: number) {
    this.#free = slots;
  }

  /** Opens a page, or anything else that holds a snapshot until it is closed. */
  async open<P extends { close(): void } | undefined>(openPage: () => Promise<P>, signal: AbortSignal): Promise<P> {
    const release = await this.acquire(signal);
    const page = await openPage().catch((error: Error) => {
      release();
      throw error;
    });
    if (page === undefined) {
      release();
      return page;
    }
    let isOpen = true;
    const close = () => {
      if (isOpen) page.close();
      isOpen = false;
      release();
    };
    return { ...page, close };
  }

  /** Holds a slot while a job runs. */
  async run<T>(job: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const release = await this.acquire(signal);
    try {
      return await job();
    } finally {
      release();
    }
  }

  /** Returns a function that releases the slot. Calling it twice is harmless. */
  async acquire(signal: AbortSignal): Promise<() => void> {
    await this.#wait(signal);
    let isHeld = true;
    return () => {
      if (isHeld) this.#release();
      isHeld = false;
    };
  }

  async #wait(signal: AbortSignal): Promise<void> {
    if (signal.aborted) throw clientDisconnected();
    if (this.#free > 0) {
      this.#free -= 1;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const end = (settle: () => void) => {
        this.#waiting.delete(proceed);
        clearTimeout(timer);
        signal.removeEventListener('abort', abort);
        settle();
      };
      const proceed = () => end(resolve);
      const abort = () => end(() => reject(clientDisconnected()));
      const timeOut = () => end(() => reject(unavailable('too many large pages or long lists are being read')));
      const timer = setTimeout(timeOut, limits.largePageWaitMillisMax);
      signal.addEventListener('abort', abort);
      this.#waiting.add(proceed);
    });
  }

  /** The slot goes to the request that has waited longest. */
  #release(): void {
    const [next] = this.#waiting;
    if (next === undefined) this.#free += 1;
    else next();
  }
}
