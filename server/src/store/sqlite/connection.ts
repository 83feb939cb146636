import { chmodSync, closeSync, existsSync, mkdirSync, openSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { damaged, unavailable } from '../../domain/errors.ts';
import { isClosed, isDamaged, sqliteCode, transientSqliteCodes } from '../base/disk-errors.ts';
import type { Row, Statement, Value } from '../base/statement.ts';
import type { PendingEntry } from '../changes/outbox.ts';

/** With 16 KiB pages most messages need no overflow page. The size is fixed when a file is created. */
const pageBytes = 16_384;

/**
 * The write-ahead log is copied into the file when it has this many pages, 62 MiB. SQLite's default is 1,000: pages that change
 * again and again are then copied four times as often. Beyond 4,062 pages, readers would look up each page in a second table.
 */
const checkpointPages = 4_000;
/** A longer log, such as that of a large import, is cut to this length when it is next used from its start. */
const logBytesMax = 67_108_864;

/** Readers do not wait for the writer in WAL mode; this covers recovery after a crash. */
export const readerBusyMillis = 5_000;
/** A reader reads the file from the system's page cache, without copies. SQLite's own limit is 2 GiB. */
const mappedBytesMax = 2 ** 31;
/** Permissions of a file, and those of other users than its owner. */
const modeBits = 0o777;
const othersMode = 0o077;
/** For the part of the file that is not mapped: enough for the inner pages of the B-trees, so that only leaves are reread. */
const readerCacheKibibytes = 32_768;

/**
 * The text that is prepared. SQLite plans a statement again at each execution if a parameter is its LIMIT, because the plan may
 * depend on the value (https://sqlite.org/c3ref/prepare.html). A unary plus hides the parameter from the planner.
 */
export const withStablePlan = (sql: string): string => sql.replaceAll('LIMIT ?', 'LIMIT +?');

/** A statement gets lists as JSON texts: see `Dialect.list`. */
const inputs = (values: readonly Value[]) => values as SQLInputValue[];

const returnArrays = (statement: StatementSync): void => statement.setReturnArrays(true);
/** Node.js also returns the id of the last row of any table, and throws if it is no safe integer. Those of FTS5 are not. */
const readBigInts = (statement: StatementSync): void => statement.setReadBigInts(true);

/** A connection to the embedded file, with verified durability settings and prepared statements. */
export class Connection {
  readonly db: DatabaseSync;
  readonly #path: string;
  readonly #file: number;
  readonly #statements = new Map<string, StatementSync>();
  readonly #ofRun = new Map<string, StatementSync>();
  readonly #ofFirst = new Map<string, StatementSync>();

  /** Whether writes add outbox entries for the change feed. */
  readonly writesOutbox: boolean;
  /** Outbox entries of the transaction that are not written yet: see `writePendingEntries`. */
  readonly pendingEntries: PendingEntry[] = [];

  constructor(path: string, busyMillis: number, { writesOutbox = true } = {}) {
    this.writesOutbox = writesOutbox;
    this.#path = path;
    makeLogWritable(path);
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
    // Deleted content is overwritten, so that free pages contain nothing of a purged conversation.
    this.db.exec('PRAGMA synchronous = FULL; PRAGMA secure_delete = ON');
    this.db.exec(`PRAGMA wal_autocheckpoint = ${checkpointPages}; PRAGMA journal_size_limit = ${logBytesMax}`);
    if (mode !== 'wal' || this.#pragma('synchronous') !== 2) {
      throw new Error(`the database file ${path} does not support write-ahead logging with full sync`);
    }
  }

  #pragma(text: string): unknown {
    return Object.values(this.db.prepare(`PRAGMA ${text}`).get() ?? {})[0];
  }

  #prepare(
    sql: string,
    statements = this.#statements,
    configure: (statement: StatementSync) => void = () => undefined,
  ): StatementSync {
    const prepared = statements.get(sql);
    if (prepared !== undefined) return prepared;
    const statement = this.db.prepare(withStablePlan(sql));
    configure(statement);
    statements.set(sql, statement);
    return statement;
  }

  get<R extends object = Row>(sql: Statement<R>, ...values: Value[]): R | undefined {
    return this.#prepare(sql).get(...inputs(values)) as R | undefined;
  }

  all<R extends object = Row>(sql: Statement<R>, ...values: readonly Value[]): R[] {
    return this.#prepare(sql).all(...inputs(values)) as R[];
  }

  /** The values of the first row, in the order of the columns: cheaper than an object. */
  first<R extends unknown[]>(sql: Statement<R>, ...values: Value[]): R | undefined {
    const statement = this.#prepare(sql, this.#ofFirst, returnArrays);
    return statement.get(...inputs(values)) as unknown as R | undefined;
  }

  /** The number of rows changed. */
  run(sql: string, ...values: readonly Value[]): number {
    return Number(this.#prepare(sql, this.#ofRun, readBigInts).run(...inputs(values)).changes);
  }

  /** All reads inside `read` see the same snapshot. */
  snapshot<T>(read: () => T): T {
    this.run('BEGIN');
    try {
      return read();
    } finally {
      this.run('COMMIT');
    }
  }

  iterate<R extends object = Row>(sql: Statement<R>, ...values: Value[]): IteratorObject<R> {
    return this.#prepare(sql).iterate(...inputs(values)) as IteratorObject<R>;
  }

  /** Throws if the file was deleted or replaced while it is open: further writes would be lost. */
  requireFile(): void {
    if (statSync(this.#path, { throwIfNoEntry: false })?.ino === this.#file) return;
    throw unavailable('the database file was deleted or replaced');
  }

  close(): void {
    for (const statements of [this.#statements, this.#ofRun, this.#ofFirst]) statements.clear();
    this.db.close();
  }
}

/** A connection that only reads, for as long as the process runs. `temporary`: statements that create its temporary tables. */
export function openReader(path: string, temporary = ''): Connection {
  const connection = new Connection(path, readerBusyMillis);
  connection.db.exec(temporary);
  const memory = `PRAGMA mmap_size = ${mappedBytesMax}; PRAGMA cache_size = -${readerCacheKibibytes}`;
  connection.db.exec(`PRAGMA query_only = ON; ${memory}`);
  return connection;
}

/**
 * SQLite creates the log and its index with the permissions of the database file. If that file was read-only at that time,
 * they would stay read-only after the file has become writable.
 */
function makeLogWritable(path: string): void {
  for (const ending of ['-wal', '-shm']) {
    const mode = statSync(path + ending, { throwIfNoEntry: false })?.mode;
    if (mode === undefined || (mode & 0o200) !== 0) continue;
    try {
      chmodSync(path + ending, mode | 0o200);
    } catch {
      // Another user owns it: the first write reports the error.
    }
  }
}

/**
 * Makes the files readable and writable only by their owner, as those that this program creates. A restored file may not be.
 * Returns those that others can still access, because this process may not change their modes.
 */
export function protectFiles(files: readonly string[]): string[] {
  // Windows has no such modes.
  if (process.getuid === undefined) return [];
  const user = process.getuid();
  return files.filter((file) => {
    const stats = statSync(file, { throwIfNoEntry: false });
    if (stats === undefined || (stats.mode & othersMode) === 0) return false;
    if (stats.uid !== user) return true;
    try {
      chmodSync(file, stats.mode & modeBits & ~othersMode);
      return false;
    } catch {
      return true;
    }
  });
}

/** Creates the file, readable only by its owner, if it does not exist. */
export function createFile(path: string): void {
  if (existsSync(path)) return;
  mkdirSync(dirname(path), { recursive: true });
  closeSync(openSync(path, 'a', 0o600));
}

/** Runs a read. An error that may not occur again becomes a 503, and so does a damaged page. */
export function orUnavailable<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (isDamaged(error)) throw damaged();
    if (!isClosed(error) && !transientSqliteCodes.includes(sqliteCode(error) ?? 0)) throw error;
    throw Object.assign(unavailable('the database is not available'), { cause: error });
  }
}
