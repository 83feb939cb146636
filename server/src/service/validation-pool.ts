import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { fromErrorMessage } from '../domain/errors.ts';
import { nextTurn } from '../domain/large-text.ts';
import { type PreparedLines, prepareLines } from '../domain/records/prepare-lines.ts';
import type { Lines } from '../domain/records/read-lines.ts';
import type { ValidationResult } from './validation-thread.ts';

/** A chunk of an import of at least this size may be validated by another thread. */
const threadChunkBytesMin = 131_072;
/** In addition to the thread that reads the input. */
const validationThreadsMax = 3;

/** One import at a time has threads: clients can send any number of imports. */
let isTaken = false;

/** Maximum number of chunks that one thread has at a time: the current one and the next. */
const threadChunksMax = 2;

/**
 * Validates the lines of one import, in the order of the input. Large chunks, which come from files, are validated by
 * several threads; these start with the first large chunk and end with the input.
 */
export async function* validateInThreads(
  chunks: AsyncIterable<Lines>,
  now: number,
): AsyncGenerator<PreparedLines, void> {
  const threads: ValidationThread[] = [];
  try {
    yield* validate(chunks, now, threads);
  } finally {
    for (const thread of threads) thread.close();
    if (threads.length > 0) isTaken = false;
  }
}

/** A small chunk never waits for the next one. */
async function* validate(
  chunks: AsyncIterable<Lines>,
  now: number,
  threads: ValidationThread[],
): AsyncGenerator<PreparedLines> {
  const pending: (Promise<PreparedLines> | PreparedLines)[] = [];
  let failure: { error: unknown } | undefined;
  try {
    for await (const chunk of chunks) {
      const isLarge = chunk.bytes.length >= threadChunkBytesMin;
      if (isLarge && !isTaken) {
        isTaken = true;
        threads.push(...startThreads());
      }
      // This thread validates the chunks for which no other thread is free.
      const free = isLarge ? threads.find((thread) => thread.isFree) : undefined;
      if (isLarge && free === undefined) await nextTurn();
      pending.push(free?.prepare(chunk, now) ?? prepareLines(chunk, now));
      const aheadMax = isLarge ? threadChunksMax * threads.length : 0;
      while (pending.length > aheadMax) yield await (pending.shift() as PreparedLines);
    }
  } catch (error) {
    failure = { error };
  }
  // Bad lines that were read before an error of the input are reported first.
  for (const prepared of pending) yield await prepared;
  if (failure !== undefined) throw failure.error;
}

function startThreads(): ValidationThread[] {
  const count = Math.min(validationThreadsMax, availableParallelism() - 1);
  return Array.from({ length: count }, () => new ValidationThread());
}

class ValidationThread {
  readonly #worker: Worker;
  readonly #waiting: PromiseWithResolvers<ValidationResult>[] = [];
  #isReady = false;

  constructor() {
    const file = import.meta.url.endsWith('.ts') ? './validation-thread.ts' : './validation-thread.js';
    this.#worker = new Worker(new URL(file, import.meta.url));
    this.#worker.on('message', (message: 'ready' | ValidationResult) => {
      if (message === 'ready') this.#isReady = true;
      else this.#waiting.shift()?.resolve(message);
    });
    this.#worker.on('error', (error) => {
      this.#isReady = false;
      for (const { reject } of this.#waiting.splice(0)) reject(error);
    });
  }

  get isFree(): boolean {
    return this.#isReady && this.#waiting.length < threadChunksMax;
  }

  async prepare(lines: Lines, now: number): Promise<PreparedLines> {
    const result = Promise.withResolvers<ValidationResult>();
    this.#waiting.push(result);
    this.#worker.postMessage({ lines, now });
    const { failure, ...batch } = await result.promise;
    return { ...batch, failure: failure && fromErrorMessage(failure) };
  }

  close(): void {
    void this.#worker.terminate();
  }
}
