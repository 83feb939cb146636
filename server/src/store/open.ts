import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { parsePostgresUrl } from '../database-url.ts';
import type { DatabaseFacts, LaterChanges } from '../domain/store/monitoring.ts';
import type { Store } from '../domain/store/store.ts';
import { explainDiskError, sqliteCode } from './base/disk-errors.ts';
import { slotCounts } from './base/large-responses.ts';
import type { PostgresPool } from './postgres/pool/pool.ts';
import { type Migration, type SchemaStatus, statusAt } from './schema/schema.ts';
import { sqlStore } from './sql-store.ts';
import { runBackupTask } from './sqlite/backup.ts';
import { protectFiles } from './sqlite/connection.ts';
import { SqliteEngine } from './sqlite/engine.ts';
import { migrateSqlite, sqliteSchemaStatus } from './sqlite/migrate.ts';
import { Writer, type WriterLinks } from './sqlite/writer.ts';

/** Pauses between two attempts to reach a database that is still starting. */
const pauseMillisMin = 100;
const pauseMillisMax = 2_000;

/** The memory that the stores of a process share, one store for each thread. */
export type StoreMemory = {
  threads: number;
  /** Counts the changes of keys. */
  keyChanges: Int32Array<SharedArrayBuffer>;
  /** Counts the slots for large responses. */
  largeResponses: Int32Array<SharedArrayBuffer>;
};

export const createStoreMemory = (threads: number): StoreMemory => ({
  threads,
  keyChanges: new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)),
  largeResponses: slotCounts(threads),
});

/** State that the stores of all threads share. */
export type StoreShare = StoreMemory & {
  /** The number of this thread, from 0 to `threads` - 1. */
  thread: number;
  /** The writer thread of the embedded engine. */
  writer: WriterLinks | undefined;
};

/** The database of a DATABASE_URL, before it is opened. */
export interface Database {
  readonly engine: 'sqlite' | 'postgres';
  /** Its path or address for messages, without a password. */
  readonly location: string;
  /** Its files on this machine; not all of them exist at all times. */
  readonly files: readonly string[];
  /** False if opening it would create a new, empty database. */
  exists(): boolean;
  status(): Promise<SchemaStatus>;
  migrate(now: number, options?: { citus?: boolean }): Promise<readonly Migration[]>;
  /** Throws if this program cannot use this version of the schema. */
  requireSchema(version: number): void;
  /** Copies a consistent snapshot of it into an empty file. */
  backup(target: string): Promise<DatabaseFacts>;
  /** Throws unless its file is a complete database. */
  check(): Promise<void>;
  readLaterChanges(): Promise<LaterChanges>;
  /** Denies other users access to its files. Returns the files of which this process may not change the mode. */
  protect(): string[];
  /** Starts the writer thread for several stores; undefined on PostgreSQL. The schema must be up to date. */
  startWriter(): Writer | undefined;
  /** Opens a store for one thread. Without `share` it is the only one of its process. The schema must be up to date. */
  open(share?: StoreShare): Promise<Store>;
}

export type DatabaseOptions = {
  database_url: string;
  database_pool: number;
  database_timeout: number;
  database_wait: number;
  database_prepared: boolean;
  /** Whether writes add outbox entries for the change feed. */
  changes: boolean;
};

export function databaseOf(options: DatabaseOptions): Database {
  return options.database_url.startsWith('sqlite:') ? sqliteAt(options) : postgresAt(options);
}

function sqliteAt({ database_url, changes }: DatabaseOptions): Database {
  const path = database_url.replace(/^sqlite:(\/\/)?/, '');
  /** SQLite's error messages do not name the file. */
  const withPath = async <T>(work: () => T): Promise<T> => {
    try {
      return work();
    } catch (error) {
      const isSqlite = sqliteCode(error) !== undefined;
      throw isSqlite ? new Error(`the database ${path}: ${explainDiskError(error)}`) : error;
    }
  };
  const files = ['', '-wal', '-shm', '-journal'].map((ending) => path + ending);
  return {
    engine: 'sqlite',
    location: path,
    files,
    exists: () => existsSync(path),
    status: () => withPath(() => sqliteSchemaStatus(path)),
    migrate: (now, { citus = false } = {}) => {
      if (citus) throw new Error('Citus is PostgreSQL: DATABASE_URL must be postgres://…');
      return withPath(() => migrateSqlite(path, now));
    },
    requireSchema: (version) => void statusAt(version, 'sqlite'),
    backup: (target) => runBackupTask({ path, target }, `the database ${path} could not be copied`),
    check: () => runBackupTask({ path }, 'the restored database is damaged'),
    readLaterChanges: () => runBackupTask({ path, reads: 'erasures' }, `the database ${path} cannot be read`),
    protect: () => protectFiles(files),
    startWriter: () => new Writer(path, changes),
    open: ({ thread, keyChanges, largeResponses: counts, writer } = onlyThread()) =>
      withPath(() => sqlStore(new SqliteEngine(path, { writer, changes }), keyChanges, { counts, thread })),
  };
}

const onlyThread = (): StoreShare => ({ ...createStoreMemory(1), thread: 0, writer: undefined });

/** The modules and the driver for PostgreSQL are loaded when used: the embedded engine starts faster without them. */
function postgresAt(options: DatabaseOptions): Database {
  const address = parsePostgresUrl(options.database_url);
  if (typeof address === 'string') throw new Error(`DATABASE_URL: ${address}`);
  const { location } = address;
  const newPool = async (connections = options.database_pool) => {
    const { PostgresPool } = await import('./postgres/pool/pool.ts');
    return new PostgresPool({
      address,
      connections,
      statementMillis: options.database_timeout,
      prepared: options.database_prepared,
      changes: options.changes,
    });
  };
  const withPool = async <T>(use: (pool: PostgresPool) => Promise<T>): Promise<T> => {
    const pool = await newPool();
    try {
      await waitFor(pool, location, options.database_wait);
      return await use(pool);
    } finally {
      await pool.close();
    }
  };
  return {
    engine: 'postgres',
    location,
    files: [],
    exists: () => true,
    status: async () => {
      const { postgresSchemaStatus } = await import('./postgres/migrate.ts');
      return withPool(postgresSchemaStatus);
    },
    migrate: async (_now, { citus = false } = {}) => {
      const { migratePostgres } = await import('./postgres/migrate.ts');
      return withPool((pool) => migratePostgres(pool, citus));
    },
    requireSchema: isPostgres,
    backup: isPostgres,
    check: isPostgres,
    readLaterChanges: isPostgres,
    protect: () => [],
    startWriter: () => undefined,
    open: async ({ thread, threads, keyChanges, largeResponses: counts } = onlyThread()) => {
      const { postgresEngine } = await import('./postgres/engine.ts');
      const { layoutOf } = await import('./postgres/layouts.ts');
      // The parts of all threads add up to the configured number.
      const pool = await newPool(Math.max(1, Math.floor((options.database_pool + thread) / threads)));
      try {
        return sqlStore(postgresEngine(pool, await layoutOf(pool)), keyChanges, { counts, thread });
      } catch (error) {
        await pool.close();
        throw error;
      }
    },
  };
}

/** Backups are copies of a file. */
function isPostgres(): never {
  throw new Error('this is for the embedded database, and DATABASE_URL is PostgreSQL: use pg_dump, or export');
}

async function waitFor(pool: PostgresPool, location: string, seconds: number): Promise<void> {
  const { isRejection } = await import('./postgres/pool/errors.ts');
  const deadline = performance.now() + seconds * 1000;
  for (let pause = pauseMillisMin; ; pause = Math.min(pause * 2, pauseMillisMax)) {
    try {
      await pool.query('SELECT 1');
      return;
    } catch (error) {
      const cause = (error as Error).cause ?? error;
      const left = isRejection(cause) ? 0 : deadline - performance.now();
      if (left <= 0) throw new Error(`the database at ${location} cannot be reached: ${(cause as Error).message}`);
      await sleep(Math.min(pause, left));
    }
  }
}
