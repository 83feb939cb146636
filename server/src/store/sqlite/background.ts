import { Worker } from 'node:worker_threads';
import { limits } from '../../contract/limits.ts';
import { clientDisconnected, type ErrorMessage, fromErrorMessage, unavailable } from '../../domain/errors.ts';
import { nextTurn } from '../../domain/large-text.ts';
import type { SearchInput, SearchName, SearchResult } from '../../domain/store/searches.ts';
import { type Background, type Reader, unitsOf } from '../base/engine.ts';
import type { Statement, Value } from '../base/statement.ts';

/** A statement, a search, or the number of a search whose client has disconnected. */
export type BackgroundRequest =
  | { number: number; statement: string; values: Value[] }
  | { number: number; name: SearchName; input: unknown }
  | { ended: number };
export type BackgroundResponse = { number: number } & ({ result: unknown } | { failure: ErrorMessage });

type Pending = { resolve: (result: never) => void; reject: (error: Error) => void };

/** Whether the serving thread needs long for these rows. Then no others are read until it has its turn. */
const isLarge = (rows: readonly object[]): boolean =>
  rows.reduce((sum, row) => sum + unitsOf(row), 0) > limits.largePageWriteBytes;

/**
 * Reads on a thread of its own: in a table whose rows are stored with their keys, the lookup of a row reads the whole rows that it
 * is compared with, which may be large. The thread is started by the first read.
 */
export class BackgroundReader implements Background {
  readonly #path: string;
  readonly #pending = new Map<number, Pending>();
  /** Statements are sent one by one, so that those of clients that have disconnected are never run. */
  #lastRead: Promise<unknown> = Promise.resolve();
  #thread: Worker | undefined;
  #count = 0;

  constructor(path: string) {
    this.#path = path;
  }

  reader(signal?: AbortSignal): Reader {
    return <R extends object>(statement: Statement<R>, ...values: Value[]) => {
      const reading = this.#lastRead.then(async () => {
        if (signal?.aborted) throw clientDisconnected();
        const rows = await this.#send<R[]>((number) => ({ number, statement, values }));
        if (isLarge(rows)) await nextTurn();
        return rows;
      });
      this.#lastRead = reading.catch(() => undefined);
      return reading;
    };
  }

  async runSearch<N extends SearchName>(name: N, input: SearchInput<N>, signal: AbortSignal): Promise<SearchResult<N>> {
    if (signal.aborted) throw clientDisconnected();
    let end = () => {};
    try {
      return await this.#send<SearchResult<N>>((number) => {
        end = () => this.#thread?.postMessage({ ended: number } satisfies BackgroundRequest);
        signal.addEventListener('abort', end);
        return { number, name, input };
      });
    } finally {
      signal.removeEventListener('abort', end);
    }
  }

  #send<R>(requestOf: (number: number) => BackgroundRequest): Promise<R> {
    const number = (this.#count += 1);
    return new Promise<R>((resolve, reject) => {
      this.#pending.set(number, { resolve, reject });
      this.#thread ??= this.#start();
      this.#thread.postMessage(requestOf(number));
    });
  }

  async close(): Promise<void> {
    await this.#thread?.terminate();
  }

  #start(): Worker {
    const file = import.meta.url.endsWith('.ts') ? './background-thread.ts' : './background-thread.js';
    const thread = new Worker(new URL(file, import.meta.url), { workerData: { path: this.#path } });
    // It must not keep a command running.
    thread.unref();
    thread.on('message', (response: BackgroundResponse) => {
      const pending = this.#pending.get(response.number);
      this.#pending.delete(response.number);
      if ('result' in response) pending?.resolve(response.result as never);
      else pending?.reject(fromErrorMessage(response.failure));
    });
    thread.on('error', () => undefined);
    thread.once('exit', () => {
      this.#thread = undefined;
      const failure = unavailable('the database is not available');
      for (const { reject } of this.#pending.values()) reject(failure);
      this.#pending.clear();
    });
    return thread;
  }
}
