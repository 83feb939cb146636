import { DatabaseSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';
import { newEpoch } from '../../domain/store/change-reads.ts';
import { explainDiskError } from '../base/disk-errors.ts';
import { setEpoch } from '../changes/sequencing.ts';
import type { BackupResult } from './backup.ts';
import { sqliteSchemaStatus } from './migrate.ts';

/** A thread that copies the database, while the thread that started it shows progress and handles signals. */

const busyMillis = 5_000;

parentPort?.postMessage(copy(workerData.path, workerData.target));

/** Cursors of the change feed are invalid in the copy: a reader that is ahead of a restored copy would miss changes. */
function startEpoch(path: string): void {
  const db = new DatabaseSync(path);
  try {
    db.prepare(setEpoch).run(newEpoch());
  } finally {
    db.close();
  }
}

function copy(path: string, target: string): BackupResult {
  try {
    // An older schema is not migrated: users make backups before an upgrade.
    if (sqliteSchemaStatus(path).current === 0) return { failure: 'it is empty' };
    const db = new DatabaseSync(path, { timeout: busyMillis });
    try {
      db.prepare('VACUUM INTO ?').run(target);
    } finally {
      db.close();
    }
    startEpoch(target);
    return 'done';
  } catch (error) {
    return { failure: explainDiskError(error) };
  }
}
