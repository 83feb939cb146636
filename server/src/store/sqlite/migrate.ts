import { DatabaseSync } from 'node:sqlite';
import { type Migration, type SchemaStatus, statusAt } from '../schema/schema.ts';
import { Connection, createFile } from './connection.ts';

/** Long enough for another process to finish migrating first. */
const waitMillis = 60_000;

const versionsTable = `
  CREATE TABLE IF NOT EXISTS schema_migrations (
    version INTEGER NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    applied_at INTEGER NOT NULL
  ) STRICT`;

/** Brings the file at `path` up to date, all steps in one transaction. Returns the steps taken. */
export function migrateSqlite(path: string, now: number): readonly Migration[] {
  createFile(path);
  const connection = new Connection(path, waitMillis);
  try {
    // Checked first without the lock: if the schema is up to date, nothing is written.
    if (statusOf(connection.db).pending.length === 0) return [];
    connection.db.exec('BEGIN IMMEDIATE');
    connection.db.exec(versionsTable);
    const { pending } = statusOf(connection.db);
    for (const { version, name, statements } of pending) {
      for (const statement of statements) connection.db.exec(statement);
      connection.run('INSERT INTO schema_migrations (version, name, applied_at) VALUES (?, ?, ?)', version, name, now);
    }
    connection.db.exec('COMMIT');
    return pending;
  } finally {
    connection.close();
  }
}

/** The file is opened for reading only. */
export function sqliteSchemaStatus(path: string): SchemaStatus {
  const db = new DatabaseSync(path, { readOnly: true, timeout: waitMillis });
  try {
    return statusOf(db);
  } finally {
    db.close();
  }
}

function statusOf(db: DatabaseSync): SchemaStatus {
  const table = db.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'schema_migrations'").get();
  const newest = table && db.prepare('SELECT MAX(version) AS version FROM schema_migrations').get();
  return statusAt(Number(newest?.version ?? 0), 'sqlite');
}
