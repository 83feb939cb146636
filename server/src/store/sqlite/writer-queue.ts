import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { limits } from '../../contract/limits.ts';
import { ServiceError, unavailable } from '../../domain/errors.ts';
import { TurnQueue } from '../../domain/turn-queue.ts';
import type { WriteInput, WriteName, WriteOptions, WriteResult } from '../engine.ts';
import type { QueuedWrite, WriteFailure, WriteOutcome, WriterMessage } from './writer-thread.ts';

type WaitingWrite = {
  write: QueuedWrite;
  resolve: (value: never) => void;
  reject: (error: Error) => void;
  /** The time limit for waiting in the queue; undefined for writes without a limit. */
  timer: NodeJS.Timeout | undefined;
  isExpired: boolean;
  progress: ((applied: number) => void) | undefined;
};

const restartMillis = 500;

/** Sends all queued writes to the writer thread as one group, and resolves each with its result. */
export class WriterQueue {
  readonly #path: string;
  #worker: Worker | undefined;
  #waiting: WaitingWrite[] = [];
  #inFlight: WaitingWrite[] = [];
  /** Resolving a whole group in one tick would delay the reads that have arrived in the meantime. */
  readonly #settling = new TurnQueue();
  #isLocked = false;
  #isClosed = false;

  constructor(path: string) {
    this.#path = path;
    this.#worker = this.#start();
  }

  /** A thread that died is replaced. Its writes may or may not be on disk: they fail with 503. */
  #start(): Worker {
    const file = import.meta.url.endsWith('.ts') ? './writer-thread.ts' : './writer-thread.js';
    const worker = new Worker(new URL(file, import.meta.url), { workerData: { path: this.#path } });
    worker.on('message', (message: WriterMessage) => this.#receive(message));
    worker.once('error', (error) => {
      const lost = this.#inFlight;
      this.#inFlight = [];
      for (const waiting of lost) settle(waiting, { failure: { kind: 'unavailable', message: String(error) } });
      this.#worker = undefined;
      setTimeout(() => this.#next(), restartMillis);
    });
    return worker;
  }

  /** Whether writes wait for long: for a long write, for another process's lock, or for a new thread after a crash. */
  get isBlocked(): boolean {
    const isLarge = ({ write }: WaitingWrite) => takesLong(write);
    return this.#isLocked || this.#worker === undefined || this.#inFlight.some(isLarge) || this.#waiting.some(isLarge);
  }

  run<N extends WriteName>(name: N, input: WriteInput<N>, options: WriteOptions = {}): Promise<WriteResult<N>> {
    return new Promise((resolve, reject) => {
      if (this.#isClosed) return reject(unavailable('the database is closed'));
      const write = { name, input } as QueuedWrite;
      const { progress } = options;
      const waiting: WaitingWrite = { write, resolve, reject, timer: undefined, isExpired: false, progress };
      if (!options.waitForever) waiting.timer = setTimeout(() => this.#expire(waiting), limits.writeWaitMillisMax);
      this.#waiting.push(waiting);
      this.#next();
    });
  }

  /** All queued writes are written first. */
  async close(): Promise<void> {
    while (this.#inFlight.length > 0 || this.#waiting.length > 0 || this.#settling.count > 0) await sleep(5);
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
    // A long write is sent alone, so that the writes after it stay in the queue, and can expire, while it runs.
    const large = this.#waiting.findIndex(({ write }) => takesLong(write));
    const count = large === -1 ? this.#waiting.length : Math.max(large, 1);
    this.#inFlight = this.#waiting.splice(0, count);
    this.#worker.postMessage(this.#inFlight.map(({ write }) => write));
  }

  #receive(message: WriterMessage): void {
    if ('applied' in message) {
      for (const { progress } of this.#inFlight) progress?.(message.applied);
      return;
    }
    const writes = this.#inFlight;
    this.#inFlight = [];
    this.#isLocked = 'busy' in message;
    if ('busy' in message) this.#queueAgain(writes);
    else this.#settleAll(writes, message.outcomes);
    this.#next();
  }

  #settleAll(writes: readonly WaitingWrite[], outcomes: readonly WriteOutcome[]): void {
    for (const [index, waiting] of writes.entries()) {
      this.#settling.add(() => settle(waiting, outcomes[index] as WriteOutcome));
    }
  }

  /** Another process has the lock, and nothing was written: writes that are not expired go to the front of the queue. */
  #queueAgain(writes: WaitingWrite[]): void {
    for (const waiting of writes) if (waiting.isExpired) waiting.reject(tooBusy());
    this.#waiting.unshift(...writes.filter(({ isExpired }) => !isExpired));
  }

  #expire(waiting: WaitingWrite): void {
    waiting.isExpired = true;
    const index = this.#waiting.indexOf(waiting);
    if (index === -1) return;
    this.#waiting.splice(index, 1);
    waiting.reject(tooBusy());
  }
}

const takesLong = (write: QueuedWrite): boolean =>
  write.name === 'purge' || (write.name === 'applyRecords' && 'fd' in write.input.spool);

const tooBusy = () => unavailable('the database is busy with a long write, try again');

function settle({ resolve, reject, timer }: WaitingWrite, outcome: WriteOutcome): void {
  clearTimeout(timer);
  if ('result' in outcome) resolve(outcome.result as never);
  else reject(errorOf(outcome.failure));
}

function errorOf({ kind, message }: WriteFailure): Error {
  if (kind === 'bad-record') return new ServiceError('invalid_param', message);
  // The client only gets a 503; the cause is for the log.
  if (kind === 'unavailable') return Object.assign(unavailable('the database cannot write'), { cause: message });
  return new Error(message);
}
