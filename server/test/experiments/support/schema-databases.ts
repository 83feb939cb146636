import { copyFileSync, existsSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import type pg from 'pg';
import { type Migration, postgresMigrations, sqliteMigrations } from '../../../src/store/schema/schema.ts';
import { onDatabase } from '../../support/faulty-postgres.ts';
import { type Engine, newDatabaseUrl } from '../../support/harness.ts';

/** A database of either engine, accessed without the program. */
export type Database = { engine: Engine; url: string; remove: () => Promise<void> };

export type Row = Record<string, unknown>;

const pathOf = ({ url }: Database): string => url.replace(/^sqlite:/, '');

export async function newDatabase(engine: Engine): Promise<Database> {
  return { engine, ...(await newDatabaseUrl(engine)) };
}

/** Runs statements in one transaction and returns the rows of the last one. `$1`, `$2` are parameters on both engines. */
export async function execute(
  database: Database,
  statements: readonly { text: string; values?: unknown[] }[],
): Promise<Row[]> {
  if (database.engine === 'postgres') {
    return onDatabase(database.url, async (client) => {
      let rows: Row[] = [];
      await client.query('BEGIN');
      for (const { text, values } of statements) rows = (await client.query(text, values)).rows;
      await client.query('COMMIT');
      return rows;
    });
  }
  const db = new DatabaseSync(pathOf(database), { timeout: 5_000 });
  try {
    let rows: Row[] = [];
    db.exec('BEGIN');
    for (const { text, values = [] } of statements)
      rows = db.prepare(text.replaceAll(/\$\d+/g, '?')).all(...(values as string[])) as Row[];
    db.exec('COMMIT');
    return rows;
  } finally {
    db.close();
  }
}

const statementsOf = ({ statements, afterCounting = [] }: Migration) => [...statements, ...afterCounting];

/** Creates the schema of an older version, with records in the tables of version 1. */
export async function createAtVersion(database: Database, version: number, messages: number): Promise<void> {
  if (version === 0) return;
  const migrations = database.engine === 'sqlite' ? sqliteMigrations : postgresMigrations;
  const steps = migrations.slice(0, version);
  if (database.engine === 'sqlite') {
    const db = new DatabaseSync(pathOf(database));
    db.exec('PRAGMA page_size = 16384; PRAGMA journal_mode = WAL');
    db.close();
  }
  await execute(database, [
    {
      text: 'CREATE TABLE schema_migrations (version BIGINT NOT NULL PRIMARY KEY, name TEXT NOT NULL, applied_at BIGINT NOT NULL)',
    },
    ...steps.flatMap((step) => [
      // The words of segments need no counting: these databases have none.
      ...statementsOf(step).map((text) => ({ text })),
      { text: 'INSERT INTO schema_migrations VALUES ($1, $2, 1)', values: [step.version, step.name] },
    ]),
    { text: `INSERT INTO workspaces (id, name) VALUES ('w', 'workspace')` },
    { text: `INSERT INTO apps (id, workspace_id, name, mode) VALUES ('a', 'w', 'app', 'chat')` },
    {
      text: `INSERT INTO conversations (conversation_id, app_id, "user", created_at, deleted, version, next_sequence)
             VALUES ('c', 'a', 'ann', 1, 0, 'v', $1)`,
      values: [messages],
    },
    ...Array.from({ length: messages }, (_, at) => ({
      text: 'INSERT INTO messages (conversation_id, created_at, sequence, id, doc) VALUES ($1, $2, $3, $4, $5)',
      values: ['c', at, at, `m${at}`, JSON.stringify({ id: `m${at}`, answer: 'x'.repeat(200) })],
    })),
  ]);
}

/** Reverts the schema to an older version, as if the later steps had not been applied. Rows stay. */
export async function revertTo(database: Database, version: number): Promise<void> {
  const migrations = database.engine === 'sqlite' ? sqliteMigrations : postgresMigrations;
  const statements = migrations.flatMap(statementsOf);
  const kept = migrations.slice(0, version).flatMap(statementsOf).length;
  const reversed = statements.slice(kept).flatMap((text, at) => inverseOf(text, statements.slice(0, kept + at)));
  await execute(database, [
    ...reversed.toReversed().map((text) => ({ text })),
    { text: 'DELETE FROM schema_migrations WHERE version > $1', values: [version] },
  ]);
}

/** The statement that reverts a change of the schema. A change of rows is left as it is. */
function inverseOf(statement: string, earlier: readonly string[]): string[] {
  const [, action, kind, name] = /^\s*(CREATE|DROP) (?:UNIQUE |VIRTUAL )?(TABLE|INDEX) (\w+)/.exec(statement) ?? [];
  if (action === 'CREATE') return [`DROP ${kind} ${name}`];
  if (action === 'DROP') {
    const created = earlier.findLast((text) => new RegExp(`^\\s*CREATE (UNIQUE )?${kind} ${name}\\b`).test(text));
    return [created ?? fail(`nothing creates ${name}`)];
  }
  const [, table, column] = /^ALTER TABLE (\w+) ADD COLUMN (\w+)/.exec(statement) ?? [];
  if (column !== undefined) return [`ALTER TABLE ${table} DROP COLUMN ${column}`];
  return /^\s*(UPDATE|INSERT|DELETE)/.test(statement) ? [] : fail(`no inverse of ${statement}`);
}

function fail(message: string): never {
  throw new Error(message);
}

/** Creates a database with the same content. The original must not be in use. */
export async function copyDatabase(database: Database): Promise<Database> {
  const copy = await newDatabase(database.engine);
  if (database.engine === 'sqlite') {
    for (const suffix of ['', '-wal']) {
      if (existsSync(`${pathOf(database)}${suffix}`))
        copyFileSync(`${pathOf(database)}${suffix}`, `${pathOf(copy)}${suffix}`);
    }
    return copy;
  }
  const [from, to] = [database, copy].map(({ url }) => new URL(url).pathname.slice(1));
  const server = new URL(database.url);
  server.pathname = '/postgres';
  await onDatabase(server.href, async (client: pg.Client) => {
    await client.query(`DROP DATABASE ${to}`);
    await client.query(`CREATE DATABASE ${to} TEMPLATE ${from}`);
  });
  return copy;
}

/** Every table, column and index except those of the migrator. */
export async function schemaOf(database: Database): Promise<string> {
  if (database.engine === 'sqlite' && !existsSync(pathOf(database))) return '[]';
  const text =
    database.engine === 'sqlite'
      ? `SELECT name, sql FROM sqlite_schema WHERE tbl_name <> 'schema_migrations' ORDER BY name`
      : `SELECT table_name, column_name, data_type, is_nullable, column_default FROM information_schema.columns
           WHERE table_schema = 'public' AND table_name NOT IN ('schema_migrations', 'leases')
         UNION ALL SELECT tablename, indexname, indexdef, '', '' FROM pg_indexes
           WHERE schemaname = 'public' AND tablename NOT IN ('schema_migrations', 'leases')
         ORDER BY 1, 2`;
  return JSON.stringify(await execute(database, [{ text }]));
}

/** The version of the last applied migration. */
export async function versionOf(database: Database): Promise<number> {
  if (database.engine === 'sqlite' && !existsSync(pathOf(database))) return 0;
  try {
    const [row] = await execute(database, [{ text: 'SELECT MAX(version) AS version FROM schema_migrations' }]);
    return Number(row?.version ?? 0);
  } catch (error) {
    // No such table, on either engine.
    if (/schema_migrations/.test((error as Error).message)) return 0;
    throw error;
  }
}

/** The messages that `createAtVersion` wrote, read without the program. */
export async function messageRows(database: Database): Promise<string> {
  const text = 'SELECT conversation_id, created_at, sequence, id, doc FROM messages ORDER BY created_at, sequence';
  return JSON.stringify(await execute(database, [{ text }]));
}

/** Whether a killed migrator left its lease, on PostgreSQL. */
export async function isLeased(database: Database): Promise<boolean> {
  if (database.engine === 'sqlite') return false;
  const [table] = await execute(database, [{ text: `SELECT to_regclass('leases') AS found` }]);
  if (table?.found === null) return false;
  const now = 'EXTRACT(EPOCH FROM now())';
  const text = `SELECT holder FROM leases WHERE name = 'migrate' AND expires_at > ${now}`;
  return (await execute(database, [{ text }])).length > 0;
}

/** Makes the lease expire now. */
export async function expireLease(database: Database): Promise<void> {
  if (await isLeased(database)) await execute(database, [{ text: 'UPDATE leases SET expires_at = 0' }]);
}
