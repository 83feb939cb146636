import { retain } from '../domain/erasure/retention.ts';
import { type Lease, underLease } from '../domain/lease.ts';
import type { Store } from '../domain/store/store.ts';
import { type Maintenance, type MaintenanceOptions, regularly } from './regularly.ts';

/** Time from the start of the service until the first run of the retention. */
const retentionStartMillis = 600_000;
const retentionIntervalMillis = 3_600_000;

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
export function emptyLogRegularly({ store, logger }: MaintenanceOptions): Maintenance {
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
  };
  return regularly(run, emptyLogMillis, emptyLogMillis);
}

type Options = MaintenanceOptions & {
  /** Milliseconds since the epoch. */
  clock: () => number;
  startMillis?: number;
  intervalMillis?: number;
};

/**
 * Erases what is older than the period of its app, some time after the start and then regularly. One thread does so for all, and
 * one process for a database.
 */
export function retainRegularly(options: Options): Maintenance {
  const { store, logger, clock } = options;
  const { startMillis = retentionStartMillis, intervalMillis = retentionIntervalMillis } = options;
  const erase = (signal: AbortSignal) =>
    retain(store, { now: Math.floor(clock() / 1000), signal }, ({ name: _, ...erased }) =>
      logger.info(erased, 'erased what is older than its period of retention'),
    );
  const run = async (signal: AbortSignal) => {
    try {
      await underLease(retentionLease(store, clock), signal, erase);
    } catch (error) {
      const { cause, message } = error as Error;
      if (signal.aborted) return;
      const failure = String(cause ?? message);
      logger.warn({ cause: failure }, 'cannot apply the retention now');
      const at = Math.floor(clock() / 1000);
      await store.run('noteJob', { kind: 'retention', at, failure }).catch(() => undefined);
    }
  };
  return regularly(run, intervalMillis, startMillis);
}
