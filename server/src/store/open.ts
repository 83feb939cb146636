import { existsSync } from 'node:fs';
import type { Store } from '../domain/store.ts';
import { migrateSqlite, type SchemaStatus, sqliteSchemaStatus } from './migrate.ts';
import type { Migration } from './schema.ts';
import { SqliteStore } from './sqlite.ts';

/** What a DATABASE_URL names, before it is opened. */
export interface Database {
  readonly engine: 'sqlite';
  /** Where it is, for people; without a password. */
  readonly place: string;
  exists(): boolean;
  status(): Promise<SchemaStatus>;
  migrate(now: number): Promise<readonly Migration[]>;
  /** On a schema that is up to date. */
  open(): Promise<Store>;
}

export function databaseOf(url: string): Database {
  const path = url.replace(/^sqlite:(\/\/)?/, '');
  return {
    engine: 'sqlite',
    place: path,
    exists: () => existsSync(path),
    status: async () => sqliteSchemaStatus(path),
    migrate: async (now) => migrateSqlite(path, now),
    open: async () => new SqliteStore(path),
  };
}
