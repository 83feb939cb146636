import { parentPort, workerData } from 'node:worker_threads';
import type { Config } from '../config.ts';
import type { SharedState } from '../http/workers/context.ts';
import { databaseOf, type StoreMemory } from '../store/open.ts';
import type { WriterLink, WriterLinks } from '../store/sqlite/writer-link.ts';
import { BufferedLog } from './buffered-log.ts';
import { loggerOf, ServiceWorker } from './worker.ts';

/** A worker in a separate thread. The main thread, which is a worker too, starts it and writes its log. */

export type WorkerThreadData = {
  config: Config;
  worker: number;
  shared: SharedState;
  storeMemory: StoreMemory;
  port: number;
};

export type MessageToWorker = { writer: WriterLink } | 'close';
export type MessageFromWorker = { log: string };

if (parentPort === null) throw new Error('this is a worker thread');
const parent = parentPort;
const { config, worker, shared, storeMemory, port } = workerData as WorkerThreadData;

const lines = new BufferedLog((log) => parent.postMessage({ log } satisfies MessageFromWorker));
const logger = loggerOf(config, lines).child({ worker });

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

async function start(): Promise<{ close: () => Promise<void> }> {
  const store = await databaseOf(config).open({ ...storeMemory, thread: worker, writer });
  const service = await ServiceWorker.create({ config, store, shared, worker, logger, lines });
  await service.listen(config.host, port, true);
  return {
    close: async () => {
      await service.close();
      await store.close();
    },
  };
}

const started = start();
parent.on('message', async (message: MessageToWorker) => {
  if (message !== 'close') return writer.use(message.writer);
  await (await started).close();
  lines.flush();
  parent.close();
});
