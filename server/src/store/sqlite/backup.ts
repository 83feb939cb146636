import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

/** The message that the thread sends when it ends. */
export type BackupResult = { failure: string } | 'done';

/** Copies a consistent snapshot of the database at `path` into the empty file at `target`. */
export async function backupSqlite(path: string, target: string): Promise<void> {
  const file = import.meta.url.endsWith('.ts') ? './backup-thread.ts' : './backup-thread.js';
  const worker = new Worker(new URL(file, import.meta.url), { workerData: { path, target } });
  const [result] = (await once(worker, 'message')) as [BackupResult];
  if (result !== 'done') throw new Error(`the database ${path} could not be copied: ${result.failure}`);
}
