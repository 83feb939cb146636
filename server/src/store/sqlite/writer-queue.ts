import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { limits } from '../../contract/limits.ts';
import { ServiceError, unavailable } from '../../domain/errors.ts';
import { TurnQueue } from '../../domain/turn-queue.ts';
import type { Write, WriteOptions } from '../engine.ts';
import type { WriteFailure, WriteResult, WriterAnswer } from './writer-thread.ts';

type Waiting = {
  write: Write;
  resolve: (value: never) => void;
  reject: (error: Error) => void;
  /** Runs out while the write waits for others; undefined for those that wait as long as it takes. */
  timer: NodeJS.Timeout | undefined;
  expired: boolean;
  progress: ((applied: number) => void) | undefined;
};

const restartMillis = 500;

/** Hands queued writes to the writer thread, all that wait at once, and gives each its own answer. */
export class WriterQueue {
  readonly #path: string;
  #worker: Worker | undefined;
  #waiting: Waiting[] = [];
  #inFlight: Waiting[] = [];
  /** A group that is answered all at once would leave reads which have come meanwhile waiting. */
  readonly #answers = new TurnQueue();
  #isLocked = false;
  #isClosed = false;

  constructor(path: string) {
    this.#path = path;
    this.#worker = this.#start();
  }

  /** A thread that died is replaced; what it was handed may or may not be written, and is answered with 503. */
  #start(): Worker {
    const file = import.meta.url.endsWith('.ts') ? './writer-thread.ts' : './writer-thread.js';
    const worker = new Worker(new URL(file, import.meta.url), { workerData: { path: this.#path } });
    worker.on('message', (response: WriterAnswer) => this.#take(response));
    worker.once('error', (error) => {
      const lost = this.#inFlight;
      this.#inFlight = [];
      for (const waiting of lost) settle(waiting, { failure: { kind: 'unavailable', message: String(error) } });
      this.#worker = undefined;
      setTimeout(() => this.#next(), restartMillis);
    });
    return worker;
  }

  /** Something keeps the writer for long: a large write of ours, another process's lock, or the thread is gone. */
  get isHeldUp(): boolean {
    const isLarge = ({ write }: Waiting) => takesLong(write);
    return this.#isLocked || this.#worker === undefined || this.#inFlight.some(isLarge) || this.#waiting.some(isLarge);
  }

  run<T>(write: Write, options: WriteOptions = {}): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#isClosed) return reject(unavailable('the database is closed'));
      const waiting: Waiting = { write, resolve, reject, timer: undefined, expired: false, progress: options.progress };
      if (!options.waitForever) waiting.timer = setTimeout(() => this.#expire(waiting), limits.writeWaitMillisMax);
      this.#waiting.push(waiting);
      this.#next();
    });
  }

  /** Everything asked for is written first. */
  async close(): Promise<void> {
    while (this.#inFlight.length > 0 || this.#waiting.length > 0 || this.#answers.count > 0) await sleep(5);
    if (this.#isClosed) return;
    this.#isClosed = true;
    const worker = this.#worker;
    if (worker === undefined) return;
    const exited = new Promise((resolve) => worker.once('exit', resolve));
    worker.postMessage('close');
    await exited;
  }

  #next(): void {
    if (this.#inFlight.length > 0 || this.#waiting.length === 0) return;
    this.#worker ??= this.#start();
    // What takes long goes alone, so that writes behind it are still waiting, and can give up, while it runs.
    const large = this.#waiting.findIndex(({ write }) => takesLong(write));
    const count = large === -1 ? this.#waiting.length : Math.max(large, 1);
    this.#inFlight = this.#waiting.splice(0, count);
    this.#worker.postMessage(this.#inFlight.map(({ write }) => write));
  }

  #take(response: WriterAnswer): void {
    if ('applied' in response) {
      for (const { progress } of this.#inFlight) progress?.(response.applied);
      return;
    }
    const answered = this.#inFlight;
    this.#inFlight = [];
    this.#isLocked = 'busy' in response;
    if ('busy' in response) this.#again(answered);
    else this.#settle(answered, response.results);
    this.#next();
  }

  #settle(answered: readonly Waiting[], results: readonly WriteResult[]): void {
    for (const [at, waiting] of answered.entries()) {
      this.#answers.add(() => settle(waiting, results[at] as WriteResult));
    }
  }

  /** Another process holds the lock, and nothing was written: those that still have time go to the front. */
  #again(answered: Waiting[]): void {
    for (const waiting of answered) if (waiting.expired) waiting.reject(tooBusy());
    this.#waiting.unshift(...answered.filter(({ expired }) => !expired));
  }

  #expire(waiting: Waiting): void {
    waiting.expired = true;
    const at = this.#waiting.indexOf(waiting);
    if (at === -1) return;
    this.#waiting.splice(at, 1);
    waiting.reject(tooBusy());
  }
}

const takesLong = (write: Write): boolean =>
  write.name === 'purge' || (write.name === 'applyRecords' && 'fd' in write.spooled);

const tooBusy = () => unavailable('the database is busy with a long write, try again');

function settle({ resolve, reject, timer }: Waiting, result: WriteResult): void {
  clearTimeout(timer);
  if ('value' in result) resolve(result.value as never);
  else reject(errorOf(result.failure));
}

function errorOf({ kind, message }: WriteFailure): Error {
  if (kind === 'bad-record') return new ServiceError('invalid_param', message);
  // The cause is for the log; the caller only learns that it may try again.
  if (kind === 'unavailable') return Object.assign(unavailable('the database cannot write'), { cause: message });
  return new Error(message);
}
