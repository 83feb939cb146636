import { parentPort, workerData } from 'node:worker_threads';
import { ServiceError } from '../../../domain/errors.ts';
import { SqlSearchReads } from '../../search/search-reads.ts';
import { runSearchOn } from '../../search/search-store.ts';
import { Connection } from '../connection.ts';
import { orUnavailable } from '../read-turns.ts';
import { dialect } from '../statements.ts';
import type { SearchRequest, SearchResponse } from './reader.ts';

/** The thread that searches for `SearchReader`. */

if (parentPort === null) throw new Error('this is a worker thread');
const parent = parentPort;
const db = new Connection(workerData.path, 5_000);
db.db.exec('PRAGMA query_only = ON; PRAGMA mmap_size = 2147483648');
const reads = new SqlSearchReads(dialect, async (statement, ...values) =>
  orUnavailable(() => db.all(statement, ...values)),
);
const running = new Map<number, AbortController>();

parent.on('message', async (request: SearchRequest) => {
  if ('ended' in request) return running.get(request.ended)?.abort();
  const { number, name, input } = request;
  const send = (response: SearchResponse) => parent.postMessage(response);
  const controller = new AbortController();
  running.set(number, controller);
  try {
    send({ number, result: await runSearchOn(reads, name, input as never, controller.signal) });
  } catch (error) {
    const code = error instanceof ServiceError ? error.code : undefined;
    send({ number, failure: { code, message: (error as Error).message } });
  } finally {
    running.delete(number);
  }
});
