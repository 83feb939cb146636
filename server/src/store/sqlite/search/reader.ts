import { Worker } from 'node:worker_threads';
import type { ErrorCode } from '../../../contract/error.ts';
import { clientDisconnected, ServiceError, unavailable } from '../../../domain/errors.ts';
import type { SearchInput, SearchName, SearchResult } from '../../../domain/search.ts';

type Pending = { resolve: (result: never) => void; reject: (error: Error) => void };
/** A search, or the number of one whose client has disconnected. */
export type SearchRequest = { number: number; name: SearchName; input: unknown } | { ended: number };
export type SearchResponse = { number: number } & (
  | { result: unknown }
  | { failure: { code: ErrorCode | undefined; message: string } }
);

/**
 * Searches run on a thread of their own: they read a large part of the index and many texts, which would hold up the other
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

  async run<N extends SearchName>(name: N, input: SearchInput<N>, signal: AbortSignal): Promise<SearchResult<N>> {
    if (signal.aborted) throw clientDisconnected();
    const number = (this.#count += 1);
    const send = (request: SearchRequest) => this.#thread?.postMessage(request);
    const end = () => send({ ended: number });
    signal.addEventListener('abort', end);
    try {
      return await new Promise<SearchResult<N>>((resolve, reject) => {
        this.#pending.set(number, { resolve, reject });
        this.#thread ??= this.#start();
        send({ number, name, input });
      });
    } finally {
      signal.removeEventListener('abort', end);
    }
  }

  async close(): Promise<void> {
    await this.#thread?.terminate();
  }

  #start(): Worker {
    const file = import.meta.url.endsWith('.ts') ? './thread.ts' : './thread.js';
    const thread = new Worker(new URL(file, import.meta.url), { workerData: { path: this.#path } });
    // It must not keep a command running.
    thread.unref();
    thread.on('message', (response: SearchResponse) => {
      const pending = this.#pending.get(response.number);
      this.#pending.delete(response.number);
      if ('result' in response) pending?.resolve(response.result as never);
      else pending?.reject(errorOf(response.failure));
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

const errorOf = ({ code, message }: { code: ErrorCode | undefined; message: string }): Error =>
  code === undefined ? new Error(message) : new ServiceError(code, message, 1);
