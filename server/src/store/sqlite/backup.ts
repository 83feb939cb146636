import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { asError } from '../../domain/errors.ts';
import type { DatabaseFacts, LaterChanges } from '../../domain/store/monitoring.ts';

/** `target`: an empty file for a consistent snapshot. Without it, the file is checked; or its erasures are read. */
export type BackupTask = { path: string; target?: string; reads?: 'erasures' };

export const backupSqlite = (path: string, target: string): Promise<DatabaseFacts> =>
  runTask({ path, target }, `the database ${path} could not be copied`);

export const checkSqlite = (path: string): Promise<void> => runTask({ path }, 'the restored database is damaged');

export const readLaterChanges = (path: string): Promise<LaterChanges> =>
  runTask({ path, reads: 'erasures' }, `the database ${path} cannot be read`);

/** The thread sends one message, or fails. */
async function runTask<T>(workerData: BackupTask, failure: string): Promise<T> {
  const file = import.meta.url.endsWith('.ts') ? './backup-thread.ts' : './backup-thread.js';
  const worker = new Worker(new URL(file, import.meta.url), { workerData });
  const [result] = await once(worker, 'message').catch((error) => {
    throw new Error(`${failure}: ${asError(error).message}`);
  });
  return result;
}
