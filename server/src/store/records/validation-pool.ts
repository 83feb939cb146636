import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { limits } from '../../contract/limits.ts';
import { type Batch, type PreparedLines, prepareLines } from '../../domain/prepare-lines.ts';
import type { Lines } from '../../domain/read-lines.ts';

/** What a thread may have before it: one piece to work on, and the next. */
const waitingMax = 2;

/** Checks the lines of one import in themselves. Large pieces, which come from files, are shared with threads. */
export class ValidationPool {
  #threads: CheckThread[] | undefined;

  /** In the order of the input, whoever is done first. A small piece is never kept waiting for the next. */
  async *prepare(pieces: AsyncIterable<Lines>, now: number): AsyncGenerator<PreparedLines> {
    const ahead: (Promise<PreparedLines> | PreparedLines)[] = [];
    let failure: { error: unknown } | undefined;
    try {
      for await (const piece of pieces) {
        const isLarge = piece.bytes.length >= limits.sharedBytesMin;
        ahead.push(isLarge ? this.#share(piece, now) : prepareLines(piece, now));
        const aheadMax = isLarge ? waitingMax * (this.#threads?.length ?? 0) : 0;
        while (ahead.length > aheadMax) yield await (ahead.shift() as PreparedLines);
      }
    } catch (error) {
      failure = { error };
    }
    // An input that cannot be read on is told after what is wrong with the lines before.
    for (const prepared of ahead) yield await prepared;
    if (failure !== undefined) throw failure.error;
  }

  /** This thread does its part too: it takes what the others have no time for. */
  #share(piece: Lines, now: number): Promise<PreparedLines> | PreparedLines {
    this.#threads ??= Array.from(
      { length: Math.min(limits.checkThreadsMax, availableParallelism() - 1) },
      () => new CheckThread(),
    );
    const free = this.#threads.find((thread) => thread.isFree);
    return free === undefined ? prepareLines(piece, now) : free.prepare(piece, now);
  }

  close(): void {
    for (const thread of this.#threads ?? []) thread.close();
  }
}

class CheckThread {
  readonly #worker: Worker;
  readonly #waiting: PromiseWithResolvers<Batch | undefined>[] = [];
  #isReady = false;

  constructor() {
    const file = import.meta.url.endsWith('.ts') ? './validation-thread.ts' : './validation-thread.js';
    this.#worker = new Worker(new URL(file, import.meta.url));
    this.#worker.on('message', (response: 'ready' | Batch | undefined) => {
      if (response === 'ready') this.#isReady = true;
      else this.#waiting.shift()?.resolve(response);
    });
    this.#worker.on('error', (error) => {
      this.#isReady = false;
      for (const { reject } of this.#waiting.splice(0)) reject(error);
    });
  }

  get isFree(): boolean {
    return this.#isReady && this.#waiting.length < waitingMax;
  }

  /** What the thread finds bad is looked at again here, to say what it is. */
  async prepare(lines: Lines, now: number): Promise<PreparedLines> {
    const response = Promise.withResolvers<Batch | undefined>();
    this.#waiting.push(response);
    this.#worker.postMessage({ lines, now });
    return (await response.promise) ?? prepareLines(lines, now);
  }

  close(): void {
    void this.#worker.terminate();
  }
}
