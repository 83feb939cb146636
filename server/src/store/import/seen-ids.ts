import { DatabaseSync, type StatementSync } from 'node:sqlite';
import type { RecordKind } from '../../contract/record.ts';
import type { LookupKind, ReferenceTarget } from '../../domain/store/store.ts';
import { spoolFailure } from './spool.ts';

/** Ids of one import beyond this are stored on disk. */
const seenIdsInMemoryMax = 100_000;

const spillIds = 1_000;

/** The records in earlier lines of one input, which later lines may refer to. If they are many, they are moved to disk. */
export class SeenIds {
  readonly #memory = new Map<string, ReferenceTarget>();
  #disk: { db: DatabaseSync; find: StatementSync; insert: StatementSync } | undefined;

  get(kind: RecordKind | LookupKind, id: string): ReferenceTarget | undefined {
    const key = `${kind} ${id}`;
    const inMemory = this.#memory.get(key);
    if (inMemory !== undefined || this.#disk === undefined) return inMemory;
    const row = this.#disk.find.get(key);
    return row && { id, parent: row.parent as string | null, scope: row.scope as string | null };
  }

  set(kind: RecordKind | LookupKind, target: ReferenceTarget): void {
    try {
      if (this.#memory.size >= seenIdsInMemoryMax) this.#spill();
    } catch (error) {
      throw spoolFailure('the folder for temporary files', error);
    }
    this.#memory.set(`${kind} ${target.id}`, target);
  }

  /** Moves the oldest to disk, a few at a time, so that the event loop is not blocked for long. */
  #spill(): void {
    const disk = (this.#disk ??= openDisk());
    disk.db.exec('BEGIN');
    let spilled = 0;
    for (const [key, { parent, scope }] of this.#memory) {
      disk.insert.run(key, parent, scope);
      this.#memory.delete(key);
      spilled += 1;
      if (spilled === spillIds) break;
    }
    disk.db.exec('COMMIT');
  }

  close(): void {
    this.#memory.clear();
    this.#disk?.db.close();
    this.#disk = undefined;
  }
}

/** An unnamed SQLite file: private to this connection, deleted when it closes. */
function openDisk() {
  const db = new DatabaseSync('');
  db.exec('PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF');
  db.exec('CREATE TABLE seen (key TEXT PRIMARY KEY, parent TEXT, scope TEXT) WITHOUT ROWID');
  return {
    db,
    find: db.prepare('SELECT parent, scope FROM seen WHERE key = ?'),
    insert: db.prepare('INSERT OR REPLACE INTO seen VALUES (?, ?, ?)'),
  };
}
