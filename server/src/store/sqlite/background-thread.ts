import { parentPort, workerData } from 'node:worker_threads';
import { toErrorMessage } from '../../domain/errors.ts';
import type { Reader } from '../base/engine.ts';
import { runSearchOn, SqlSearchReads } from '../search/search-reads.ts';
import type { BackgroundRequest, BackgroundResponse } from './background.ts';
import { openReader, orUnavailable } from './connection.ts';
import { createWordLists, dialect } from './statements.ts';

/** The thread that reads for `BackgroundReader`. */

if (parentPort === null) throw new Error('this is a worker thread');
const parent = parentPort;
const db = openReader(workerData.path, createWordLists);
const read: Reader = async (statement, ...values) => orUnavailable(() => db.all(statement, ...values));
const searchReads = new SqlSearchReads(dialect, read);
const searches = new Map<number, AbortController>();

parent.on('message', async (request: BackgroundRequest) => {
  if ('ended' in request) return searches.get(request.ended)?.abort();
  const { number } = request;
  const send = (response: BackgroundResponse) => parent.postMessage(response);
  try {
    send({
      number,
      result: await ('statement' in request ? read(request.statement, ...request.values) : search(request)),
    });
  } catch (error) {
    send({ number, failure: toErrorMessage(error) });
  }
});

function search({ number, name, input }: Extract<BackgroundRequest, { name: string }>): Promise<unknown> {
  const controller = new AbortController();
  searches.set(number, controller);
  return runSearchOn(searchReads, name, input as never, controller.signal).finally(() => searches.delete(number));
}
