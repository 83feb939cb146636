import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { DatabaseFacts, LaterChanges } from '../../domain/store/monitoring.ts';

/** `target`: an empty file for a consistent snapshot. Without it, the file is checked; or its erasures are read. */
export type BackupTask = { path: string; target?: string; reads?: 'erasures' };
/** The message that the thread sends when it ends. */
export type BackupResult = { failure: string } | { facts: DatabaseFacts } | { later: LaterChanges };

/** Copies a consistent snapshot of the database at `path` into the empty file at `target`. */
export async function backupSqlite(path: string, target: string): Promise<DatabaseFacts> {
  const result = await runTask({ path, target });
  if ('facts' in result) return result.facts;
  throw new Error(`the database ${path} could not be copied: ${failureOf(result)}`);
}

/** Throws if the file is not a complete database. */
export async function checkSqlite(path: string): Promise<void> {
  const result = await runTask({ path });
  if (!('facts' in result)) throw new Error(`the restored database is damaged: ${failureOf(result)}`);
}

export async function readLaterChanges(path: string): Promise<LaterChanges> {
  const result = await runTask({ path, reads: 'erasures' });
  if ('later' in result) return result.later;
  throw new Error(`the database ${path} cannot be read: ${failureOf(result)}`);
}

async function runTask(workerData: BackupTask): Promise<BackupResult> {
  const file = import.meta.url.endsWith('.ts') ? './backup-thread.ts' : './backup-thread.js';
  const worker = new Worker(new URL(file, import.meta.url), { workerData });
  const [result] = (await once(worker, 'message')) as [BackupResult];
  return result;
}

const failureOf = (result: BackupResult): string => ('failure' in result ? result.failure : '');
