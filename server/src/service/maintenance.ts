import { setImmediate as nextTick, setTimeout as sleep } from 'node:timers/promises';
import { limits } from '../contract/limits.ts';
import { countUsers } from '../domain/activity/list-users.ts';
import { ChangeWatch } from '../domain/changes/change-watch.ts';
import { hourOf, type KeyUses } from '../domain/keys/key-uses.ts';
import { IndexPace, indexBusyMillis, type StepCost } from '../domain/search/index-pace.ts';
import { type IndexStep, indexLag, SearchIndexer } from '../domain/search/search-indexer.ts';
import type { Store } from '../domain/store/store.ts';
import { attempt, type Maintenance, type MaintenanceOptions, regularly } from './regularly.ts';

/** Time between two deletions of old audit entries and sessions. */
const trimIntervalMillis = 3_600_000;
/** Time between two looks for changed conversations. */
const countUsersIntervalMillis = 60_000;
/** Pause between two transactions that count conversations. */
const countUsersPauseMillis = 20;
/** Time between two times that changes are sequenced although no one reads the feed. */
const sequenceIntervalMillis = 60_000;
/** Time until an indexer without changes looks again, and renews its lease. */
const indexWaitMillis = 3_000;
/** Time until it tries again while the database is not available: a watch of the database then notices a change in each check. */
const indexRetryMillis = 1_000;

const secondsPerDay = 86_400;

/** Stores when keys were last used, and their errors, regularly and at the end. Every worker does so. */
export function saveUses(uses: KeyUses, { store, logger }: MaintenanceOptions): Maintenance {
  const save = () => attempt('store the use of keys', uses.save(store), logger);
  const saving = regularly(save, limits.lastUsedIntervalMillis, limits.lastUsedIntervalMillis);
  return { end: () => saving.end().then(save) };
}

async function trimReads(store: Store, before: number): Promise<void> {
  while ((await store.run('trimReads', before)) >= limits.auditBatchMax);
}

/** Deletes old audit entries and sessions. One thread does so for all. */
export function trimRegularly(audit_days: number, { store, logger }: MaintenanceOptions): Maintenance {
  const trim = () => {
    const now = Math.floor(Date.now() / 1000);
    return Promise.all([
      attempt('delete old audit entries', store.trimAudit(now - audit_days * secondsPerDay), logger),
      attempt('delete old entries of reads', trimReads(store, now - audit_days * secondsPerDay), logger),
      attempt('delete expired sessions', store.run('trimSessions', now), logger),
      attempt(
        'delete old request counts of keys',
        store.run('trimKeyRequests', hourOf(now) - limits.keyErrorHours),
        logger,
      ),
    ]);
  };
  return regularly(trim, trimIntervalMillis);
}

/** Sequences changes, so that the outbox stays small while no one reads the feed. One thread does so for all. */
export const sequenceRegularly = ({ store, logger }: MaintenanceOptions): Maintenance =>
  regularly(() => attempt('sequence changes', store.changes.sequence(), logger), sequenceIntervalMillis);

/**
 * Counts changed conversations for the totals of users, in small steps. Each is counted once at a time, also while it changes
 * all the time. One thread does so for all.
 */
export function countUsersRegularly({ store, logger }: MaintenanceOptions): Maintenance {
  const count = (signal: AbortSignal) => {
    const pause = async () => {
      await sleep(countUsersPauseMillis);
      return !signal.aborted;
    };
    return attempt('count the conversations of users', countUsers(store, pause), logger);
  };
  return regularly(count, countUsersIntervalMillis);
}

/** Keeps the index of the search up to date. One thread does so for all, and one process for a database. */
export function indexRegularly({ store, logger }: MaintenanceOptions): Maintenance {
  const indexer = new SearchIndexer(store, Date.now);
  const watch = new ChangeWatch(store);
  const pace = new IndexPace();
  const stop = new AbortController();
  const step = async (): Promise<IndexStep | 'failed'> => {
    try {
      return await indexer.step(pace.isBusy ? indexBusyMillis : limits.indexWriteMillis);
    } catch (error) {
      logger.debug({ cause: String((error as Error).cause ?? (error as Error).message) }, 'cannot index now');
      return 'failed';
    }
  };
  /** While others write, it pauses for most of the time. */
  const pause = async (cost: StepCost): Promise<void> => {
    const counts = await store.changes.count();
    pace.note(cost, counts, performance.now());
    if (!pace.isBusy || watch.isClosed) return;
    const { oldest, isBuilding } = await indexLag(store, counts);
    const lagSeconds = isBuilding ? Number.POSITIVE_INFINITY : Date.now() / 1_000 - (oldest ?? Date.now() / 1_000);
    await sleep(pace.pauseMillis(cost, Math.max(0, lagSeconds)));
  };
  const run = async () => {
    while (!watch.isClosed) {
      const { workedMillis, indexed } = indexer;
      const start = performance.now();
      const outcome = await step();
      if (outcome === 'failed') {
        await sleep(indexRetryMillis, undefined, { signal: stop.signal }).catch(() => undefined);
        continue;
      }
      const cost = {
        millis: performance.now() - start,
        workedMillis: indexer.workedMillis - workedMillis,
        records: indexer.indexed - indexed,
      };
      await pause(cost).catch(() => undefined);
      if (outcome === 'more') await nextTick();
      else await watch.wait(indexWaitMillis);
    }
    await attempt('end the lease of the indexer', indexer.end(), logger);
  };
  const ended = run();
  return {
    end: () => {
      watch.close();
      stop.abort();
      return ended;
    },
  };
}
