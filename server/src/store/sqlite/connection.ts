import { chmodSync, closeSync, existsSync, mkdirSync, openSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { unavailable } from '../../domain/errors.ts';
import type { Row, Value } from '../engine.ts';

/** 16 KiB pages keep most messages off overflow pages; fixed when a file is made. */
const pageBytes = 16_384;

/** A connection to the embedded file whose durability settings were read back, and its prepared statements. */
export class Connection {
  readonly db: DatabaseSync;
  readonly #path: string;
  readonly #file: number;
  readonly #statements = new Map<string, StatementSync>();
  /** The same, their rows without names. */
  readonly #ordered = new Map<string, StatementSync>();

  constructor(path: string, busyMillis: number) {
    this.#path = path;
    openCompanions(path);
    this.db = new DatabaseSync(path, { timeout: busyMillis });
    try {
      this.#configure(path);
      this.#file = statSync(path).ino;
    } catch (error) {
      this.db.close();
      throw error;
    }
  }

  #configure(path: string): void {
    this.db.exec(`PRAGMA page_size = ${pageBytes}`);
    const mode = this.#pragma('journal_mode = WAL');
    // Deleted content is overwritten, so that an erased person does not linger in free pages.
    this.db.exec('PRAGMA synchronous = FULL; PRAGMA secure_delete = ON; PRAGMA journal_size_limit = 67108864');
    if (mode !== 'wal' || this.#pragma('synchronous') !== 2) {
      throw new Error(`the database file ${path} does not take write-ahead logging with full sync`);
    }
  }

  #pragma(text: string): unknown {
    return Object.values(this.db.prepare(`PRAGMA ${text}`).get() ?? {})[0];
  }

  #prepare(sql: string): StatementSync {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      statement = this.db.prepare(sql);
      this.#statements.set(sql, statement);
    }
    return statement;
  }

  get(sql: string, ...values: Value[]): Row | undefined {
    return this.#prepare(sql).get(...(values as SQLInputValue[]));
  }

  all(sql: string, ...values: Value[]): Row[] {
    return this.#prepare(sql).all(...(values as SQLInputValue[]));
  }

  /** The first row's columns in their order: cheaper than a row by names. */
  first(sql: string, ...values: Value[]): unknown[] | undefined {
    let statement = this.#ordered.get(sql);
    if (statement === undefined) {
      statement = this.db.prepare(sql);
      statement.setReturnArrays(true);
      this.#ordered.set(sql, statement);
    }
    return statement.get(...(values as SQLInputValue[])) as unknown as unknown[] | undefined;
  }

  /** The number of rows changed. */
  run(sql: string, ...values: Value[]): number {
    return Number(this.#prepare(sql).run(...(values as SQLInputValue[])).changes);
  }

  /** Everything that is read inside is of one moment. */
  snapshot<T>(read: () => T): T {
    this.run('BEGIN');
    try {
      return read();
    } finally {
      this.run('COMMIT');
    }
  }

  iterate(sql: string): Iterable<Row> {
    return this.#prepare(sql).iterate();
  }

  /** Throws where the file was deleted or replaced under us: what is written now would be lost. */
  requireFile(): void {
    if (statSync(this.#path, { throwIfNoEntry: false })?.ino === this.#file) return;
    throw unavailable('the database file is gone');
  }

  close(): void {
    this.#statements.clear();
    this.#ordered.clear();
    this.db.close();
  }
}

/**
 * SQLite gives the log and its index the rights of the database file when it makes them. Made while that was read-only, they
 * would stay so when it no longer is.
 */
function openCompanions(path: string): void {
  for (const ending of ['-wal', '-shm']) {
    const mode = statSync(path + ending, { throwIfNoEntry: false })?.mode;
    if (mode === undefined || (mode & 0o200) !== 0) continue;
    try {
      chmodSync(path + ending, mode | 0o200);
    } catch {
      // Somebody else's: the first write tells.
    }
  }
}

/** Makes the file, readable by its owner alone, where there is none. */
export function createFile(path: string): void {
  if (existsSync(path)) return;
  mkdirSync(dirname(path), { recursive: true });
  closeSync(openSync(path, 'a', 0o600));
}
