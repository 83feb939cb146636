import { DatabaseSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';
import { newEpoch } from '../../domain/store/change-reads.ts';
import type { DatabaseFacts, LaterChanges } from '../../domain/store/monitoring.ts';
import { explainDiskError } from '../base/disk-errors.ts';
import { setEpoch } from '../changes/sequencing.ts';
import { tables } from '../tables/tables.ts';
import type { BackupTask } from './backup.ts';
import { sqliteSchemaStatus } from './migrate.ts';

/** A thread that copies or reads a database, while the thread that started it shows progress and handles signals. */

const busyMillis = 5_000;

parentPort?.postMessage(attempt(workerData));

function attempt({ path, target, reads }: BackupTask): DatabaseFacts | LaterChanges | undefined {
  try {
    if (target !== undefined) return copy(path, target);
    return reads === undefined ? check(path) : readErasures(path);
  } catch (error) {
    throw new Error(explainDiskError(error));
  }
}

function copy(path: string, target: string): DatabaseFacts {
  // An older schema is not migrated: users make backups before an upgrade.
  const { current } = sqliteSchemaStatus(path);
  if (current === 0) throw new Error('it is empty');
  const created_at = Math.floor(Date.now() / 1000);
  using(path, { timeout: busyMillis }, (db) => db.prepare('VACUUM INTO ?').run(target));
  return using(target, {}, (db) => {
    const facts = { created_at, schema: current, ...factsOf(db) };
    // Cursors of the change feed are invalid in the copy: a reader that is ahead of a restored copy would miss changes.
    db.prepare(setEpoch).run(newEpoch());
    return facts;
  });
}

function check(path: string): undefined {
  const problem = using(path, { readOnly: true }, (db) => db.prepare('PRAGMA integrity_check').get()?.integrity_check);
  if (problem !== 'ok') throw new Error(`${problem}`);
  sqliteSchemaStatus(path);
  using(path, { readOnly: true }, factsOf);
}

function readErasures(path: string): LaterChanges {
  return using(path, { readOnly: true, timeout: busyMillis }, (db) => {
    const rows = db.prepare('SELECT conversation_id, message_id, at FROM tombstones').all();
    const tombstones = rows.map(({ conversation_id, message_id, at }) => {
      return { conversation_id: `${conversation_id}`, message_id: `${message_id}`, at: Number(at) };
    });
    return { tombstones, valid_keys: factsOf(db).valid_keys };
  });
}

function factsOf(db: DatabaseSync) {
  const count = (table: string) => Number(db.prepare(`SELECT COUNT(*) AS n FROM ${table}`).get()?.n);
  const keys = db.prepare('SELECT id FROM api_keys WHERE revoked_at IS NULL ORDER BY id').all();
  return {
    epoch: `${db.prepare('SELECT epoch FROM changes_head').get()?.epoch}`,
    records: Object.fromEntries(Object.entries(tables).map(([kind, { name }]) => [kind, count(name)])),
    valid_keys: keys.map(({ id }) => `${id}`),
  };
}

function using<T>(path: string, options: { readOnly?: boolean; timeout?: number }, use: (db: DatabaseSync) => T): T {
  const db = new DatabaseSync(path, options);
  try {
    return use(db);
  } finally {
    db.close();
  }
}
