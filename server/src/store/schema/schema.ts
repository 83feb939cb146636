import { createTables } from './create-tables.ts';

/**
 * A migration step from one schema version to the next. A released step never changes: later ones follow it. On Citus, a step
 * runs on the distributed tables of earlier steps; its own tables are distributed after it.
 */
export type Migration = {
  version: number;
  name: string;
  statements: readonly string[];
  /** Run after `statements` by PostgreSQL servers that are built with LZ4. */
  withLz4?: readonly string[];
};

type Engine = keyof typeof createTables;

/**
 * Until the first release there is one step: a change of the schema edits it and increments this version, so that databases of
 * unreleased versions are recognized. See decision 0030.
 */
const firstVersion = 33;

/**
 * Tables whose rows may be large. They are not clustered by their keys: SQLite would read each row that a lookup compares, as a
 * whole. Those of messages are, nevertheless: the messages of a page are stored together.
 */
const withLargeRows = new Set([
  ...['workspaces', 'apps', 'api_keys', 'model_providers', 'model_entries', 'conversations', 'reviews', 'user_totals'],
  ...['datasets', 'documents', 'segments', 'child_chunks', 'child_chunk_revisions'],
]);

/** Tables are clustered by their keys. Types are enforced. */
function forSqlite(statement: string): string {
  const translated = statement.replaceAll('BIGINT', 'INTEGER').replaceAll('DOUBLE PRECISION', 'REAL');
  const [, table] = /^CREATE TABLE (\w+)/.exec(statement) ?? [];
  if (table === undefined) return translated;
  return `${translated} STRICT${withLargeRows.has(table) ? '' : ', WITHOUT ROWID'}`;
}

/** Ids and texts compare by bytes, as they do in SQLite. */
function forPostgres(statement: string): string {
  return statement.replaceAll(' TEXT', ' TEXT COLLATE "C"');
}

/** Translates a statement of a step. */
export const toDialect = { sqlite: forSqlite, postgres: forPostgres } as const;

/**
 * The texts of messages are read much more often than they are written, and LZ4 decompresses them several times as fast as
 * PostgreSQL's own compression.
 */
const compressMessages = 'ALTER TABLE messages ALTER COLUMN doc SET COMPRESSION lz4';

/** In order. Tests add a step to these lists. */
export const migrations: Readonly<Record<Engine, Migration[]>> = {
  sqlite: [{ version: firstVersion, name: 'tables', statements: createTables.sqlite.map(forSqlite) }],
  postgres: [
    {
      version: firstVersion,
      name: 'tables',
      statements: createTables.postgres.map(forPostgres),
      withLz4: [compressMessages],
    },
  ],
};

export type SchemaStatus = {
  current: number;
  latest: number;
  pending: readonly Migration[];
  /** Tables that a started distribution over nodes has left to do. */
  undistributed: readonly string[];
};

/** `current` is 0 for a new database. Throws if this program cannot use it, now or after a migration. */
export function statusAt(current: number, engine: Engine): SchemaStatus {
  const steps = migrations[engine];
  const latest = steps.at(-1)?.version ?? 0;
  if (current > latest) {
    throw new Error(`the database has schema ${current}, newer than this program's ${latest}: run a newer backscroll`);
  }
  if (current > 0 && current < firstVersion) {
    throw new Error(
      `the database has schema ${current} of an unreleased version: export it with that version, and import it into a new database with this one`,
    );
  }
  return { current, latest, pending: steps.filter(({ version }) => version > current), undistributed: [] };
}
