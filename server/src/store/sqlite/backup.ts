import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

/** What the thread says when it is done: nothing, or what went wrong. */
export type BackupAnswer = { failure: string } | 'done';

/** Copies the database at `path`, as it stands at one moment, into the empty file at `target`. */
export async function backupSqlite(path: string, target: string): Promise<void> {
  const file = import.meta.url.endsWith('.ts') ? './backup-thread.ts' : './backup-thread.js';
  const worker = new Worker(new URL(file, import.meta.url), { workerData: { path, target } });
  const [response] = (await once(worker, 'message')) as [BackupAnswer];
  if (response !== 'done') throw new Error(`the database ${path} could not be copied: ${response.failure}`);
}
