import type { FastifyBaseLogger } from 'fastify';
import { asError } from '../domain/errors.ts';
import { underLease } from '../domain/lease.ts';
import type { Store } from '../domain/store/store.ts';
import { type Maintenance, regularly } from './regularly.ts';

/** Time between two looks at what is due. */
const defaultTickMillis = 2_000;
/** Pause after a failure; doubled after each other one, up to the time between two backups. */
const retrySecondsMin = 60;
const retryDoublingsMax = 12;

type Options = {
  store: Store;
  logger: FastifyBaseLogger;
  /** Milliseconds since the epoch. */
  clock: () => number;
  everySeconds: number;
  /** Makes a backup, and returns what to log about it. */
  backUp: (signal: AbortSignal) => Promise<string>;
  /** Stores the erasures that the store of backups does not have, and returns their number. */
  sendErasures: () => Promise<number>;
  tickMillis?: number;
};

/**
 * Makes backups, and stores erasures soon after they happen. One thread does so for all, and one process for a database. When
 * a backup is due depends on the last one that the database knows, so a restart neither repeats nor skips one.
 */
export function backUpRegularly(options: Options): Maintenance {
  const { store, clock, everySeconds, logger, tickMillis = defaultTickMillis } = options;
  const stop = new AbortController();
  const seconds = () => Math.floor(clock() / 1000);
  const isDue = async () => {
    const last = (await store.monitoring.listJobs()).find(({ kind }) => kind === 'store')?.at ?? 0;
    return seconds() >= last + everySeconds;
  };
  const backUp = async () => {
    if (!(await isDue())) return;
    const lease = { store, name: 'backup schedule', clock, onWait: () => undefined };
    await underLease(lease, stop.signal, async (signal) => {
      // Another process may have made it meanwhile.
      if (await isDue()) logger.info(await options.backUp(signal));
    });
  };
  /** Pauses after failures, for longer after each one. */
  const patiently = (work: () => Promise<unknown>, problem: string) => {
    let [failures, retryAt] = [0, 0];
    return async () => {
      if (stop.signal.aborted || seconds() < retryAt) return;
      try {
        await work();
        failures = 0;
      } catch (error) {
        const { cause, message } = asError(error);
        if (!stop.signal.aborted) logger.warn({ cause: String(cause ?? message) }, problem);
        retryAt = seconds() + Math.min(everySeconds, retrySecondsMin * 2 ** Math.min(failures, retryDoublingsMax));
        failures += 1;
      }
    };
  };
  const tasks = [
    regularly(
      patiently(options.sendErasures, 'the store of backups does not have the latest erasures yet'),
      tickMillis,
    ),
    regularly(patiently(backUp, 'the backup failed: the last good one stays'), tickMillis),
  ];
  return {
    end: async () => {
      stop.abort();
      await Promise.all(tasks.map((task) => task.end()));
    },
  };
}
