import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { limits } from '../../contract/limits.ts';
import type { Referable, ReferenceTarget } from '../../domain/store.ts';
import { cannotKeep } from './spool.ts';

const spillIds = 1_000;

/** What one input has brought so far, for its later lines to refer to. Beyond a bound it is remembered on disk. */
export class SeenIds {
  #memory = new Map<string, ReferenceTarget>();
  #disk: { db: DatabaseSync; find: StatementSync; keep: StatementSync } | undefined;

  get(kind: Referable, id: string): ReferenceTarget | undefined {
    const key = `${kind} ${id}`;
    const held = this.#memory.get(key);
    if (held !== undefined || this.#disk === undefined) return held;
    const row = this.#disk.find.get(key);
    return row && { id, parent: row.parent as string | null, scope: row.scope as string | null };
  }

  set(kind: Referable, known: ReferenceTarget): void {
    try {
      if (this.#memory.size >= limits.seenIdsInMemoryMax) this.#spill();
    } catch (error) {
      throw cannotKeep('the folder for temporary files', error);
    }
    this.#memory.set(`${kind} ${known.id}`, known);
  }

  /** The oldest go, some at a time: nobody waits long for it. */
  #spill(): void {
    const disk = (this.#disk ??= openDisk());
    disk.db.exec('BEGIN');
    let spilled = 0;
    for (const [key, { parent, scope }] of this.#memory) {
      disk.keep.run(key, parent, scope);
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

/** An unnamed SQLite file: private to this connection, gone when it closes. */
function openDisk() {
  const db = new DatabaseSync('');
  db.exec('PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF');
  db.exec('CREATE TABLE seen (key TEXT PRIMARY KEY, parent TEXT, scope TEXT) WITHOUT ROWID');
  return {
    db,
    find: db.prepare('SELECT parent, scope FROM seen WHERE key = ?'),
    keep: db.prepare('INSERT OR REPLACE INTO seen VALUES (?, ?, ?)'),
  };
}
