import { DatabaseSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';
import { explainDiskError } from '../disk-errors.ts';
import type { BackupAnswer } from './backup.ts';
import { sqliteSchemaStatus } from './migrate.ts';

/** A thread that copies the database, so that the one which started it can show progress and obey signals. */

const busyMillis = 5_000;

parentPort?.postMessage(copy(workerData.path, workerData.target));

function copy(path: string, target: string): BackupAnswer {
  try {
    // An older schema stays as it is: a backup is what one takes before an upgrade.
    if (sqliteSchemaStatus(path).current === 0) return { failure: 'it holds nothing' };
    const db = new DatabaseSync(path, { timeout: busyMillis });
    try {
      db.prepare('VACUUM INTO ?').run(target);
    } finally {
      db.close();
    }
    return 'done';
  } catch (error) {
    return { failure: explainDiskError(error) };
  }
}
