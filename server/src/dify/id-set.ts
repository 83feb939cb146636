import { DatabaseSync } from 'node:sqlite';

/** Sets of ids by kind, of any size: in an unnamed SQLite file, which is deleted when it is closed. */
export class IdSets {
  readonly #db = new DatabaseSync('');
  readonly #insert;
  readonly #find;
  readonly #first;
  readonly #between;
  readonly #delete;
  readonly #remove;
  readonly #count;

  constructor() {
    this.#db.exec('PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE');
    this.#db.exec('CREATE TABLE ids (kind TEXT, id TEXT, PRIMARY KEY (kind, id)) WITHOUT ROWID');
    this.#insert = this.#db.prepare('INSERT OR IGNORE INTO ids VALUES (?, ?)');
    this.#find = this.#db.prepare('SELECT 1 FROM ids WHERE kind = ? AND id = ?');
    this.#first = this.#db.prepare('SELECT id FROM ids WHERE kind = ? ORDER BY id LIMIT ?');
    this.#between = this.#db.prepare('SELECT id FROM ids WHERE kind = ? AND id > ? AND id <= ? ORDER BY id');
    this.#delete = this.#db.prepare('DELETE FROM ids WHERE kind = ? AND id <= ?');
    this.#remove = this.#db.prepare('DELETE FROM ids WHERE kind = ? AND id = ?');
    this.#count = this.#db.prepare('SELECT COUNT(*) AS n FROM ids WHERE kind = ?');
  }

  add(kind: string, ids: readonly string[]): void {
    this.#db.exec('BEGIN');
    for (const id of ids) this.#insert.run(kind, id);
    this.#db.exec('COMMIT');
  }

  has(kind: string, id: string): boolean {
    return this.#find.get(kind, id) !== undefined;
  }

  count(kind: string): number {
    return this.#count.get(kind)?.n as number;
  }

  /** Removes the first ids in their order, and returns them. */
  take(kind: string, limit: number): string[] {
    const ids = this.#first.all(kind, limit).map(({ id }) => id as string);
    if (ids.length > 0) this.#delete.run(kind, ids.at(-1) as string);
    return ids;
  }

  /** As `take`, to the end of a group: the ids of a group begin with the same `groupLength` characters. */
  takeGroups(kind: string, limit: number, groupLength: number): string[] {
    const ids = this.take(kind, limit);
    const last = ids.at(-1);
    if (last === undefined) return ids;
    const end = `${last.slice(0, groupLength)}~`;
    const rest = this.#between.all(kind, last, end).map(({ id }) => id as string);
    this.#delete.run(kind, end);
    return [...ids, ...rest];
  }

  remove(kind: string, ids: readonly string[]): void {
    this.#db.exec('BEGIN');
    for (const id of ids) this.#remove.run(kind, id);
    this.#db.exec('COMMIT');
  }

  clear(): void {
    this.#db.exec('DELETE FROM ids');
  }

  close(): void {
    this.#db.close();
  }
}
