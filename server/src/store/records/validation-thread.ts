import { parentPort } from 'node:worker_threads';
import { prepareLines } from '../../domain/prepare-lines.ts';
import type { Lines } from '../../domain/read-lines.ts';

/** A thread that checks lines in themselves. An error would not arrive as it is: a bad line is answered with nothing. */

parentPort?.on('message', ({ lines, now }: { lines: Lines; now: number }) => {
  const { failure, ...batch } = prepareLines(lines, now);
  if (failure === undefined) parentPort?.postMessage(batch, [batch.texts.buffer as ArrayBuffer]);
  else parentPort?.postMessage(undefined);
});
parentPort?.postMessage('ready');
