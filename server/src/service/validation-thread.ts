import { parentPort } from 'node:worker_threads';
import { prepareLines } from '../domain/records/prepare-lines.ts';
import type { Lines } from '../domain/records/read-lines.ts';

/** A thread that validates lines. Messages between threads lose the class of an error, so a bad line is sent as `undefined`. */

parentPort?.on('message', ({ lines, now }: { lines: Lines; now: number }) => {
  const { failure, ...batch } = prepareLines(lines, now);
  if (failure === undefined) parentPort?.postMessage(batch, [batch.texts.buffer as ArrayBuffer]);
  else parentPort?.postMessage(undefined);
});
parentPort?.postMessage('ready');
