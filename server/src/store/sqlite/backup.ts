import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { asError } from '../../domain/errors.ts';

/** `target`: an empty file for a consistent snapshot. Without it, the file is checked; or its erasures are read. */
export type BackupTask = { path: string; target?: string; reads?: 'erasures' };

/** The thread sends one message, or fails. */
export async function runBackupTask<T>(workerData: BackupTask, failure: string): Promise<T> {
  const file = import.meta.url.endsWith('.ts') ? './backup-thread.ts' : './backup-thread.js';
  const worker = new Worker(new URL(file, import.meta.url), { workerData });
  const [result] = await once(worker, 'message').catch((error) => {
    throw new Error(`${failure}: ${asError(error).message}`);
  });
  return result;
}
