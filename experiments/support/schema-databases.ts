import { existsSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { readConfig } from '../../server/src/config.ts';
import { databaseOf } from '../../server/src/store/open.ts';
import { onDatabase } from '../../server/test/support/faulty-postgres.ts';
import { type Engine, newDatabaseUrl } from '../../server/test/support/harness.ts';

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
  // A service may write at the same time, on a busy machine.
  const db = new DatabaseSync(pathOf(database), { timeout: 60_000 });
  try {
    let rows: Row[] = [];
    db.exec('BEGIN IMMEDIATE');
    for (const { text, values = [] } of statements)
      rows = db.prepare(text.replaceAll(/\$\d+/g, '?')).all(...(values as string[])) as Row[];
    db.exec('COMMIT');
    return rows;
  } finally {
    db.close();
  }
}

/** Creates the current schema, with a conversation of so many messages. */
export async function createMigrated(database: Database, messages: number): Promise<void> {
  await databaseOf(readConfig({ DATABASE_URL: database.url })).migrate(1);
  await execute(database, [
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

/** Every table, column and index except those of the migrator and of Citus. */
export async function schemaOf(database: Database): Promise<string> {
  if (database.engine === 'sqlite' && !existsSync(pathOf(database))) return '[]';
  const text =
    database.engine === 'sqlite'
      ? `SELECT name, sql FROM sqlite_schema WHERE tbl_name <> 'schema_migrations' ORDER BY name`
      : `SELECT * FROM (
           SELECT table_name, column_name, data_type, is_nullable, column_default FROM information_schema.columns
             WHERE table_schema = 'public'
           UNION ALL SELECT tablename, indexname, indexdef, '', '' FROM pg_indexes WHERE schemaname = 'public'
         ) AS parts WHERE table_name NOT IN ('schema_migrations', 'leases') AND table_name !~ '^(pg_dist|citus)'
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

/** The messages that `createMigrated` wrote, read without the program. */
export async function messageRows(database: Database): Promise<string> {
  const text = 'SELECT conversation_id, created_at, sequence, id, doc FROM messages ORDER BY created_at, sequence';
  return JSON.stringify(await execute(database, [{ text }]));
}

/** What the step that tests add has stored about these messages: as expected, or applied twice or in part. */
export async function rowsOfAddedStep(database: Database): Promise<string> {
  const text = `SELECT (SELECT COUNT(*) FROM messages WHERE added_at = created_at + 1) AS changed,
    (SELECT SUM(messages) FROM added_rows) AS counted`;
  const [row] = await execute(database, [{ text }]);
  return `${row?.changed} messages, ${row?.counted} counted`;
}

/** Tables that a distributed database has not distributed. */
export async function undistributedTables(database: Database): Promise<string[]> {
  if (database.engine === 'sqlite') return [];
  const [catalog] = await execute(database, [{ text: `SELECT to_regclass('pg_dist_partition') AS found` }]);
  if (catalog?.found === null) return [];
  const text = `SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename !~ '^(pg_dist|citus)'
    AND to_regclass(tablename) NOT IN (SELECT logicalrelid FROM pg_dist_partition)`;
  return (await execute(database, [{ text }])).map(({ tablename }) => String(tablename));
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
