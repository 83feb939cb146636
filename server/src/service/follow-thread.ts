import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyBaseLogger } from 'fastify';
import type { Config } from '../config.ts';
import { limits } from '../contract/limits.ts';
import { importFromDify } from '../dify/run.ts';
import { allRows, type Report } from '../dify/source.ts';
import type { Store } from '../domain/store/store.ts';
import { databaseOf } from '../store/open.ts';
import { followEvents } from './follow-events.ts';
import { runInThread } from './run-in-thread.ts';

/**
 * A thread that follows the Dify installation that owns the data, as `import --from-dify --follow` does. One of all processes of a database
 * follows; the others wait for its lease.
 */
runInThread(async ({ config, worker, storeMemory, writer, logger }) => {
  const store = await databaseOf(config).open({ ...storeMemory, thread: worker, writer });
  const stop = new AbortController();
  const ended = follow(config, store, logger, stop.signal);
  return {
    close: async () => {
      stop.abort();
      await ended;
      await store.close();
    },
  };
});

async function follow(config: Config, store: Store, logger: FastifyBaseLogger, signal: AbortSignal): Promise<void> {
  const url = config.dify_database_url ?? '';
  const run = {
    isDry: false,
    isForced: false,
    isOwner: true,
    models: undefined,
    follow: limits.followSeconds,
    clock: Date.now,
  };
  const report: Report = {
    skip: (skip) => logger.debug(skip, 'skipped a row of the Dify installation'),
    count: () => undefined,
  };
  let failure = '';
  while (!signal.aborted) {
    try {
      await importFromDify(url, store, allRows, run, report, followEvents(logger), signal);
    } catch (error) {
      const { message } = error as Error;
      // While it lasts, an outage is logged once.
      if (!signal.aborted && message !== failure)
        logger.error({ cause: message }, 'cannot follow the Dify installation now');
      failure = message;
    }
    await sleep(limits.followSeconds * 1000, undefined, { signal }).catch(() => undefined);
  }
}
