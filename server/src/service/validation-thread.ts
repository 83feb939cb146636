import { parentPort } from 'node:worker_threads';
import { type ErrorMessage, toErrorMessage } from '../domain/errors.ts';
import { type Batch, prepareLines } from '../domain/records/prepare-lines.ts';
import type { Lines } from '../domain/records/read-lines.ts';

/** A thread that validates lines. */

export type ValidationResult = Batch & { failure: ErrorMessage | undefined };

parentPort?.on('message', ({ lines, now }: { lines: Lines; now: number }) => {
  const { failure, ...batch } = prepareLines(lines, now);
  const result: ValidationResult = { ...batch, failure: failure === undefined ? undefined : toErrorMessage(failure) };
  parentPort?.postMessage(result, [batch.texts.buffer as ArrayBuffer]);
});
parentPort?.postMessage('ready');
