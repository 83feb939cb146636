import { Worker } from 'node:worker_threads';
import { unavailable } from '../../domain/errors.ts';
import type { Row, Value } from '../engine.ts';

type Pending = { resolve: (rows: Row[]) => void; reject: (error: Error) => void };
export type SearchRequest = { number: number; statement: string; values: Value[] };
export type SearchResponse = { number: number } & ({ rows: Row[] } | { error: string });

/**
 * Statements of the search run on a thread of their own: some read a large part of the index, which would hold up the other
 * requests. The thread is started by the first search.
 */
export class SearchReader {
  readonly #path: string;
  readonly #pending = new Map<number, Pending>();
  #thread: Worker | undefined;
  #count = 0;

  constructor(path: string) {
    this.#path = path;
  }

  read(statement: string, ...values: Value[]): Promise<Row[]> {
    return new Promise((resolve, reject) => {
      const number = (this.#count += 1);
      this.#pending.set(number, { resolve, reject });
      this.#thread ??= this.#start();
      this.#thread.postMessage({ number, statement, values } satisfies SearchRequest);
    });
  }

  async close(): Promise<void> {
    await this.#thread?.terminate();
  }

  #start(): Worker {
    const file = import.meta.url.endsWith('.ts') ? './search-thread.ts' : './search-thread.js';
    const thread = new Worker(new URL(file, import.meta.url), { workerData: { path: this.#path } });
    // It must not keep a command running.
    thread.unref();
    thread.on('message', (response: SearchResponse) => {
      const pending = this.#pending.get(response.number);
      this.#pending.delete(response.number);
      if ('rows' in response) pending?.resolve(response.rows);
      else pending?.reject(new Error(response.error));
    });
    thread.on('error', () => undefined);
    thread.once('exit', () => {
      this.#thread = undefined;
      const failure = unavailable('the search has ended');
      for (const { reject } of this.#pending.values()) reject(failure);
      this.#pending.clear();
    });
    return thread;
  }
}
