import { setTimeout as sleep } from 'node:timers/promises';
import { limits } from '../../contract/limits.ts';
import { BadRecord, fromErrorMessage, ServiceError, toErrorMessage, unavailable } from '../../domain/errors.ts';
import { TickQueue } from '../../domain/tick-queue.ts';
import type { WriteInput, WriteName, WriteOptions, WriteResult } from '../base/engine.ts';
import {
  groupStates,
  isLong,
  type QueuedWrite,
  type WriteOutcome,
  type WriterLink,
  type WriterLinks,
  type WriterMessage,
} from './writer.ts';

type WaitingWrite = {
  write: QueuedWrite;
  resolve: (value: never) => void;
  reject: (error: Error) => void;
  /** The time limit for waiting in the queue; undefined for writes without a limit. */
  timer: NodeJS.Timeout | undefined;
  isExpired: boolean;
  progress: ((applied: number) => void) | undefined;
};

/**
 * The queue of one thread. Sends all queued writes to the writer thread as one group, and resolves each with its result.
 * The writer commits the groups of several threads together.
 */
export class WriterQueue {
  readonly #unsubscribe: () => void;
  /** Undefined while a new writer thread starts. */
  #link: WriterLink | undefined;
  #waiting: WaitingWrite[] = [];
  #inFlight: WaitingWrite[] = [];
  /** Resolving a whole group in one tick would delay the reads that have arrived in the meantime. */
  readonly #settling = new TickQueue();
  #isWithdrawn = false;
  #isLocked = false;
  #isClosed = false;

  constructor(links: WriterLinks) {
    this.#unsubscribe = links.subscribe((link) => this.#use(link));
  }

  #use(link: WriterLink): void {
    this.#link = link;
    link.port.on('message', (message: WriterMessage) => this.#receive(message));
    link.port.once('close', () => this.#lose(link));
    this.#next();
  }

  /** The writer thread has died. Its writes may or may not be on disk: they fail with 503. */
  #lose(link: WriterLink): void {
    if (this.#link !== link) return;
    this.#link = undefined;
    this.#isWithdrawn = false;
    const failure = toErrorMessage(unavailable('the writer thread has ended'));
    for (const waiting of this.#inFlight.splice(0)) settle(waiting, { failure });
  }

  /** The number of commits by all threads of this process; undefined without a writer. */
  get commits(): number | undefined {
    return this.#link && Atomics.load(this.#link.commits, 0);
  }

  /** Whether writes wait for long: for a long write, for another process's lock, or for a new writer after a crash. */
  get isBlocked(): boolean {
    const isLarge = ({ write }: WaitingWrite) => isLong(write);
    const { longWrite } = this.#link ?? {};
    return this.#isLocked || longWrite?.[0] !== 0 || this.#inFlight.some(isLarge) || this.#waiting.some(isLarge);
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
    this.#isClosed = true;
    this.#unsubscribe();
    this.#link?.port.close();
  }

  #next(): void {
    if (this.#link === undefined || this.#inFlight.length > 0 || this.#isWithdrawn || this.#waiting.length === 0)
      return;
    // A long write is sent alone, so that the writes after it stay in the queue, and can expire, while it runs.
    const large = this.#waiting.findIndex(({ write }) => isLong(write));
    const count = large === -1 ? this.#waiting.length : Math.max(large, 1);
    this.#inFlight = this.#waiting.splice(0, count);
    Atomics.store(this.#link.group, 0, groupStates.sent);
    this.#link.port.postMessage(this.#inFlight.map(({ write }) => write));
  }

  #receive(message: WriterMessage): void {
    if ('applied' in message) {
      for (const { progress } of this.#inFlight) progress?.(message.applied);
      return;
    }
    if ('withdrawn' in message) {
      this.#isWithdrawn = false;
      this.#next();
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
    if (this.#inFlight.includes(waiting)) this.#withdraw();
    const index = this.#waiting.indexOf(waiting);
    if (index === -1) return;
    this.#waiting.splice(index, 1);
    waiting.reject(tooBusy());
  }

  /** Takes the group back if the writer has not started it. The writer confirms it before another group is sent. */
  #withdraw(): void {
    const { group } = this.#link ?? {};
    const { sent, withdrawn } = groupStates;
    if (group === undefined || Atomics.compareExchange(group, 0, sent, withdrawn) !== sent) return;
    this.#isWithdrawn = true;
    this.#waiting.unshift(...this.#inFlight.splice(0));
  }
}

const tooBusy = () => unavailable('the database is busy with a long write, try again');

function settle({ resolve, reject, timer }: WaitingWrite, outcome: WriteOutcome): void {
  clearTimeout(timer);
  if ('result' in outcome) resolve(outcome.result as never);
  else reject(errorOf(fromErrorMessage(outcome.failure)));
}

/** The client only gets a 503; the cause is for the log. */
function errorOf(error: Error): Error {
  if (!(error instanceof ServiceError) || error instanceof BadRecord || error.outage) return error;
  return Object.assign(unavailable('the database cannot write'), { cause: error.message });
}
