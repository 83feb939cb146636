import { databaseOf } from '../store/open.ts';
import { runInThread } from './run-in-thread.ts';
import { createWorker } from './worker.ts';

/** A worker in a separate thread. The main thread is a worker too. */
runInThread(async ({ config, worker, shared, storeMemory, port, writer, logger, lines }) => {
  const store = await databaseOf(config).open({ ...storeMemory, thread: worker, writer });
  const service = await createWorker({ config, store, shared, worker, logger, lines });
  await service.listen(config.host, port, true);
  return {
    close: async () => {
      await service.close();
      await store.close();
    },
  };
});
