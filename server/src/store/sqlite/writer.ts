import { MessageChannel, Worker } from 'node:worker_threads';
import type { WriterLink, WriterLinks } from './writer-link.ts';

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
