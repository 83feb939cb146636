import { once } from 'node:events';
import { createServer, type ListenOptions } from 'node:net';
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import type { FastifyBaseLogger } from 'fastify';
import { BadSetting, type Config } from '../config.ts';
import type { Database } from '../store/open.ts';
import type { Writer } from '../store/sqlite/writer.ts';
import type { MessageFromThread, MessageToThread, ThreadData } from './run-in-thread.ts';

const restartMillis = 500;
/** Requests leave little behind: with V8's own limit a busy worker takes 90 MB more, and is no faster. */
const youngMegabytes = 12;

type Options = {
  /** Their numbers: all but 0, which is the main thread. */
  data: Omit<ThreadData, 'worker'>;
  /** Whether one more thread follows the Dify installation that owns the data. Its number comes after those of the workers. */
  follows: boolean;
  /** Undefined on PostgreSQL. */
  writer: Writer | undefined;
  logger: FastifyBaseLogger;
  log: (text: string) => void;
};

/** The workers in separate threads. One that dies is replaced. */
export class WorkerPool {
  readonly #options: Options;
  readonly #running = new Map<Worker, Promise<void>>();
  readonly #restarts = new Set<NodeJS.Timeout>();
  #isClosing = false;
  /** When each thread has started once, or has failed to. */
  readonly started: Promise<unknown>;

  constructor(options: Options) {
    this.#options = options;
    const threads = options.data.shared.workers + (options.follows ? 1 : 0);
    this.started = Promise.all(Array.from({ length: threads - 1 }, (_, at) => this.#start(at + 1)));
  }

  /** Finishes requests in flight. */
  async close(): Promise<void> {
    this.#isClosing = true;
    for (const timer of this.#restarts) clearTimeout(timer);
    for (const thread of this.#running.keys()) thread.postMessage('close' satisfies MessageToThread);
    await Promise.all(this.#running.values());
  }

  /** Waits until it has started or failed. */
  #start(worker: number): Promise<void> {
    const { data, writer, logger, log } = this.#options;
    const name = worker < data.shared.workers ? 'worker-thread' : 'follow-thread';
    const file = `./${name}${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`;
    const thread = new Worker(new URL(file, import.meta.url), {
      workerData: { ...data, worker },
      resourceLimits: { maxYoungGenerationSizeMb: youngMegabytes },
    });
    const unsubscribe = writer?.subscribe((link) =>
      thread.postMessage({ writer: link } satisfies MessageToThread, [link.port]),
    );
    const started = Promise.withResolvers<void>();
    thread.on('message', (message: MessageFromThread) => {
      if (message === 'started') started.resolve();
      // With `npm run dev` Node.js sends messages of its own.
      else if ('log' in message) log(message.log);
    });
    let cause: object = {};
    thread.on('error', ({ message, stack }: Error) => {
      cause = { err: { message, stack } };
    });
    const exited = new Promise<void>((resolve) => {
      thread.once('exit', (code) => {
        unsubscribe?.();
        this.#running.delete(thread);
        resolve();
        started.resolve();
        if (this.#isClosing) return;
        logger.error({ worker, code, ...cause }, 'a worker has died');
        this.#startAgain(worker);
      });
    });
    this.#running.set(thread, exited);
    return started.promise;
  }

  #startAgain(worker: number): void {
    const timer = setTimeout(() => {
      this.#restarts.delete(timer);
      void this.#start(worker);
    }, restartMillis);
    this.#restarts.add(timer);
  }
}

const autoWorkersMax = 4;

/** The number of workers to start: as configured, or less where that is not possible. */
export async function workerCount(
  { workers, database_pool }: Config,
  { engine }: Database,
  logger: FastifyBaseLogger,
): Promise<number> {
  // Each worker needs a connection to the database.
  const max = engine === 'postgres' ? database_pool : Number.POSITIVE_INFINITY;
  if (workers !== 'auto' && workers > max) {
    throw new BadSetting(`WORKERS=${workers}: must be at most DATABASE_POOL, which is ${database_pool}`);
  }
  const count = workers === 'auto' ? Math.min(availableParallelism(), autoWorkersMax, max) : workers;
  if (count === 1 || (await canSharePort())) return count;
  logger.info('there is one worker: this operating system cannot share a port between threads');
  return 1;
}

/** Not on macOS and Windows: https://nodejs.org/api/net.html#serverlistenoptions-callback */
async function canSharePort(): Promise<boolean> {
  try {
    await tryListening({ host: '127.0.0.1', port: 0, reusePort: true });
    return true;
  } catch {
    return false;
  }
}

/** Listens for a moment. Throws if that is not possible. */
export async function tryListening(options: ListenOptions): Promise<void> {
  const server = createServer();
  server.listen(options);
  await once(server, 'listening');
  server.close();
  await once(server, 'close');
}
