import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads';
import type { ErrorMessage } from '../../domain/errors.ts';
import type { WriteInput, WriteName } from '../base/engine.ts';

/** The connection of one thread to the writer thread. It can be sent to another thread; then `port` must be transferred. */
export type WriterLink = {
  port: MessagePort;
  /** The state of the group of writes that the thread has sent; see `groupStates`. */
  group: Int32Array<SharedArrayBuffer>;
  /** 1 while a long write of any thread is running. */
  longWrite: Int32Array<SharedArrayBuffer>;
  /** The number of commits. It changes before the writes of a commit are acknowledged. */
  commits: Int32Array<SharedArrayBuffer>;
};

/**
 * A thread has at most one group of writes at the writer. It can withdraw the group while the writer has not taken it,
 * which happens when a long write of another thread is running. Both sides change the state with `compareExchange`, so only
 * one of them succeeds.
 */
export const groupStates = { sent: 1, taken: 2, withdrawn: 3 } as const;

/** The source of a thread's link to the writer: one at the start, and another one whenever the writer was replaced. */
export interface WriterLinks {
  /** Returns a function that ends the subscription. */
  subscribe(use: (link: WriterLink) => void): () => void;
}

export type QueuedWrite = { [N in WriteName]: { name: N; input: WriteInput<N> } }[WriteName];
export type WriteOutcome = { result: unknown } | { failure: ErrorMessage };
export type WriterMessage = { outcomes: WriteOutcome[] } | { busy: true } | { applied: number } | { withdrawn: true };

const longWrites: readonly WriteName[] = ['eraseConversations', 'rebuildFile', 'emptyLog', 'resetIndex'];

/** Such a write is sent and committed alone. */
export const isLong = (write: QueuedWrite): boolean =>
  longWrites.includes(write.name) || (write.name === 'applyRecords' && 'fd' in write.input.spool);

const restartMillis = 500;

/** The writer thread of a process. If it dies, it is replaced, and its writes fail. */
export class Writer implements WriterLinks {
  readonly #path: string;
  /** Whether writes add outbox entries for the change feed. */
  readonly #changes: boolean;
  readonly #longWrite = new Int32Array(new SharedArrayBuffer(4));
  readonly #commits = new Int32Array(new SharedArrayBuffer(4));
  readonly #subscribers = new Set<(link: WriterLink) => void>();
  #thread: Worker | undefined;
  #restart: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(path: string, changes: boolean) {
    this.#path = path;
    this.#changes = changes;
    this.#start();
  }

  subscribe(use: (link: WriterLink) => void): () => void {
    this.#subscribers.add(use);
    if (this.#thread !== undefined) use(this.#connect(this.#thread));
    return () => this.#subscribers.delete(use);
  }

  /** Call it when all writes have ended. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearTimeout(this.#restart);
    const thread = this.#thread;
    if (thread === undefined) return;
    const exited = new Promise((resolve) => thread.once('exit', resolve));
    thread.postMessage('close');
    await exited;
  }

  #start(): void {
    const file = import.meta.url.endsWith('.ts') ? './writer-thread.ts' : './writer-thread.js';
    const thread = new Worker(new URL(file, import.meta.url), {
      workerData: { path: this.#path, changes: this.#changes },
    });
    this.#thread = thread;
    Atomics.store(this.#longWrite, 0, 0);
    // The threads with writes in flight notice it by their closed port, and log it with the failed requests.
    thread.on('error', () => undefined);
    thread.once('exit', () => {
      this.#thread = undefined;
      if (!this.#isClosed) this.#restart = setTimeout(() => this.#start(), restartMillis);
    });
    for (const use of this.#subscribers) use(this.#connect(thread));
  }

  #connect(thread: Worker): WriterLink {
    const { port1, port2 } = new MessageChannel();
    const group = new Int32Array(new SharedArrayBuffer(4));
    const shared = { group, longWrite: this.#longWrite, commits: this.#commits };
    thread.postMessage({ port: port1, ...shared } satisfies WriterLink, [port1]);
    return { port: port2, ...shared };
  }
}
