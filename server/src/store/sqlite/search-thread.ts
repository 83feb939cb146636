import { parentPort, workerData } from 'node:worker_threads';
import { Connection } from './connection.ts';
import type { SearchRequest, SearchResponse } from './search-reader.ts';

/** The thread that reads for `SearchReader`. */

if (parentPort === null) throw new Error('this is a worker thread');
const parent = parentPort;
const db = new Connection(workerData.path, 5_000);
db.db.exec('PRAGMA query_only = ON; PRAGMA mmap_size = 2147483648');

parent.on('message', ({ number, statement, values }: SearchRequest) => {
  const send = (response: SearchResponse) => parent.postMessage(response);
  try {
    send({ number, rows: db.all(statement, ...values) });
  } catch (error) {
    send({ number, error: (error as Error).message });
  }
});
