import type { FastifyBaseLogger } from 'fastify';
import type { Store } from '../domain/store/store.ts';

/** What the main thread does for all, or a worker for itself, until it ends. */
export type Maintenance = { end: () => Promise<void> };
export type MaintenanceOptions = { store: Store; logger: FastifyBaseLogger };

/** Runs a task at first after `firstMillis`, and then `millis` after the end of each run. The end waits for a run that has begun. */
export function regularly(
  run: (signal: AbortSignal) => Promise<unknown>,
  millis: number,
  firstMillis: number = 0,
): Maintenance {
  const stop = new AbortController();
  let timer: NodeJS.Timeout;
  let running: Promise<unknown> | undefined;
  const start = (pause: number) => {
    timer = setTimeout(async () => {
      await (running = run(stop.signal));
      if (!stop.signal.aborted) start(millis);
    }, pause).unref();
  };
  start(firstMillis);
  return {
    end: async () => {
      stop.abort();
      clearTimeout(timer);
      await running;
    },
  };
}

/** A task may fail while the database is not available: the next run does what is left. */
export async function attempt(task: string, work: Promise<unknown>, logger: FastifyBaseLogger): Promise<void> {
  await work.catch((error: Error) => {
    logger.debug({ cause: String(error.cause ?? error.message) }, `cannot ${task} now`);
  });
}
