import type { FastifyBaseLogger } from 'fastify';
import { limits } from '../contract/limits.ts';
import { retain } from '../domain/erasure/retention.ts';
import { type Lease, underLease } from '../domain/lease.ts';
import type { Store } from '../domain/store/store.ts';

/** One process of a database erases at a time. `clock`: milliseconds since the epoch. */
export const retentionLease = (store: Store, clock: () => number): Lease => ({
  store,
  name: 'retention',
  clock,
  onWait: () => undefined,
});

/** Time between two attempts to empty the log of the embedded database, and until a warning is logged. */
const emptyLogMillis = 1_000;
const warningMillis = 10_000;

/**
 * Removes erased texts from the log of the embedded database as soon as other processes no longer read older data. One
 * thread does so for all.
 */
export function emptyLogRegularly({ store, logger }: Pick<Options, 'store' | 'logger'>): { end: () => Promise<void> } {
  let running: Promise<void> | undefined;
  let failedAt: number | undefined;
  let isLogged = false;
  const run = async () => {
    const isEmpty = await store.erasure.emptyLog().catch(() => false);
    failedAt = isEmpty ? undefined : (failedAt ?? performance.now());
    const isLong = failedAt !== undefined && performance.now() - failedAt > warningMillis;
    if (isLong && !isLogged)
      logger.warn('erased texts stay in the log of the database until another process stops reading older data');
    if (isEmpty && isLogged) logger.info('the log of the database has no erased texts any more');
    isLogged = isLong;
    running = undefined;
  };
  const timer = setInterval(() => {
    running ??= run();
  }, emptyLogMillis).unref();
  return {
    end: async () => {
      clearInterval(timer);
      await running;
    },
  };
}

type Options = {
  store: Store;
  logger: FastifyBaseLogger;
  /** Milliseconds since the epoch. */
  clock: () => number;
  startMillis?: number;
  intervalMillis?: number;
};

/**
 * Erases what is older than the period of its app, some time after the start and then regularly. One thread does so for all, and
 * one process for a database.
 */
export function retainRegularly(options: Options): { end: () => Promise<void> } {
  const { store, logger, clock } = options;
  const { startMillis = limits.retentionStartMillis, intervalMillis = limits.retentionIntervalMillis } = options;
  const stop = new AbortController();
  const erase = (signal: AbortSignal) =>
    retain(store, { now: Math.floor(clock() / 1000), signal }, ({ name: _, ...erased }) =>
      logger.info(erased, 'erased what is older than its period of retention'),
    );
  let running = Promise.resolve();
  const run = async () => {
    try {
      await underLease(retentionLease(store, clock), stop.signal, erase);
    } catch (error) {
      const { cause, message } = error as Error;
      if (!stop.signal.aborted) logger.warn({ cause: String(cause ?? message) }, 'cannot apply the retention now');
    }
    if (!stop.signal.aborted) start(intervalMillis);
  };
  let timer: NodeJS.Timeout;
  const start = (millis: number) => {
    timer = setTimeout(() => {
      running = run();
    }, millis).unref();
  };
  start(startMillis);
  return {
    end: async () => {
      stop.abort();
      clearTimeout(timer);
      await running;
    },
  };
}
