import { parentPort, workerData } from 'node:worker_threads';
import type { FastifyBaseLogger } from 'fastify';
import type { Config } from '../config.ts';
import type { SharedState } from '../http/workers/context.ts';
import type { StoreMemory } from '../store/open.ts';
import type { WriterLink, WriterLinks } from '../store/sqlite/writer.ts';
import { BufferedLog, loggerOf } from './buffered-log.ts';

/** What the main thread gives a thread of the service. */
export type ThreadData = {
  config: Config;
  worker: number;
  shared: SharedState;
  storeMemory: StoreMemory;
  port: number;
};

export type MessageToThread = { writer: WriterLink } | 'close';
export type MessageFromThread = { log: string } | 'started';

type Thread = ThreadData & { writer: WriterLinks; logger: FastifyBaseLogger; lines: BufferedLog };

/** Runs the work of a thread until the main thread, which writes its log, closes it. */
export function runInThread(start: (thread: Thread) => Promise<{ close: () => Promise<void> }>): void {
  if (parentPort === null) throw new Error('this is a worker thread');
  const parent = parentPort;
  const data = workerData as ThreadData;
  const lines = new BufferedLog((log) => parent.postMessage({ log } satisfies MessageFromThread));
  const logger = loggerOf(data.config, lines).child({ worker: data.worker });
  /** The links that the main thread sends. The first one may arrive before the store subscribes. */
  const writer: WriterLinks & { use: (link: WriterLink) => void; link: WriterLink | undefined } = {
    link: undefined,
    use: (link) => {
      writer.link = link;
    },
    subscribe: (use) => {
      writer.use = use;
      if (writer.link !== undefined) use(writer.link);
      return () => undefined;
    },
  };
  const started = start({ ...data, writer, logger, lines });
  // A failure ends the thread.
  void started.then(() => {
    lines.flush();
    parent.postMessage('started' satisfies MessageFromThread);
  });
  parent.on('message', async (message: MessageToThread) => {
    if (message !== 'close') return writer.use(message.writer);
    await (await started).close();
    lines.flush();
    parent.close();
  });
}
