import { DatabaseSync } from 'node:sqlite';
import type { Keys } from './source.ts';

/** Sets of ids by kind, of any size: in an unnamed SQLite file, which is deleted when it is closed. */
export class IdSets {
  readonly #db = new DatabaseSync('');

  constructor() {
    this.#db.exec('PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE');
    this.#db.exec('CREATE TABLE ids (kind TEXT, id TEXT, PRIMARY KEY (kind, id)) WITHOUT ROWID');
  }

  async addFound(found: AsyncIterable<Keys>): Promise<void> {
    for await (const { kind, ids } of found) this.add(kind, ids);
  }

  add(kind: string, ids: readonly string[]): void {
    if (ids.length === 0) return;
    this.#db.exec('BEGIN');
    const insert = this.#db.prepare('INSERT OR IGNORE INTO ids VALUES (?, ?)');
    for (const id of ids) insert.run(kind, id);
    this.#db.exec('COMMIT');
  }

  has(kind: string, id: string): boolean {
    return this.#db.prepare('SELECT 1 FROM ids WHERE kind = ? AND id = ?').get(kind, id) !== undefined;
  }

  count(kind: string): number {
    return this.#db.prepare('SELECT COUNT(*) AS n FROM ids WHERE kind = ?').get(kind)?.n as number;
  }

  /** Removes the first ids in their order, and returns them. */
  take(kind: string, limit: number): string[] {
    const ids = this.#list('SELECT id FROM ids WHERE kind = ? ORDER BY id LIMIT ?', kind, limit);
    this.#removeTo(kind, ids.at(-1));
    return ids;
  }

  /** As `take`, to the end of a group: the ids of a group begin with the same `groupLength` characters. */
  takeGroups(kind: string, limit: number, groupLength: number): string[] {
    const ids = this.take(kind, limit);
    const last = ids.at(-1);
    if (last === undefined) return ids;
    const end = `${last.slice(0, groupLength)}~`;
    const rest = this.#list('SELECT id FROM ids WHERE kind = ? AND id > ? AND id <= ? ORDER BY id', kind, last, end);
    this.#removeTo(kind, end);
    return [...ids, ...rest];
  }

  #list(sql: string, ...parameters: (string | number)[]): string[] {
    return this.#db
      .prepare(sql)
      .all(...parameters)
      .map(({ id }) => id as string);
  }

  #removeTo(kind: string, last: string | undefined): void {
    if (last !== undefined) this.#db.prepare('DELETE FROM ids WHERE kind = ? AND id <= ?').run(kind, last);
  }

  clear(): void {
    this.#db.exec('DELETE FROM ids');
  }

  close(): void {
    this.#db.close();
  }
}
