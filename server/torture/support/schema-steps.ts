import { copyFileSync, existsSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import type pg from 'pg';
import { postgresMigrations, sqliteMigrations } from '../../src/store/schema/schema.ts';
import { onDatabase } from '../../test/support/faulty-postgres.ts';
import { type Engine, newDatabaseUrl } from '../../test/support/harness.ts';

/** A database of either engine, looked at from outside. */
export type Place = { engine: Engine; url: string; remove: () => Promise<void> };

export type Row = Record<string, unknown>;

const pathOf = ({ url }: Place): string => url.replace(/^sqlite:/, '');

export async function newPlace(engine: Engine): Promise<Place> {
  return { engine, ...(await newDatabaseUrl(engine)) };
}

/** Runs statements, all in one transaction; gives the rows of the last. `$1`, `$2` name values on both engines. */
async function onPlace(place: Place, statements: readonly { text: string; values?: unknown[] }[]): Promise<Row[]> {
  if (place.engine === 'postgres') {
    return onDatabase(place.url, async (client) => {
      let rows: Row[] = [];
      await client.query('BEGIN');
      for (const { text, values } of statements) rows = (await client.query(text, values)).rows;
      await client.query('COMMIT');
      return rows;
    });
  }
  const db = new DatabaseSync(pathOf(place), { timeout: 5_000 });
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

/** The first `version` steps, as a program of that time has taken them, and some records of the very first tables. */
export async function buildAt(place: Place, version: number, messages: number): Promise<void> {
  if (version === 0) return;
  const migrations = place.engine === 'sqlite' ? sqliteMigrations : postgresMigrations;
  const steps = migrations.slice(0, version);
  if (place.engine === 'sqlite') {
    const db = new DatabaseSync(pathOf(place));
    db.exec('PRAGMA page_size = 16384; PRAGMA journal_mode = WAL');
    db.close();
  }
  await onPlace(place, [
    {
      text: 'CREATE TABLE schema_migrations (version BIGINT NOT NULL PRIMARY KEY, name TEXT NOT NULL, applied_at BIGINT NOT NULL)',
    },
    ...steps.flatMap((step) => [
      ...step.statements.map((text) => ({ text })),
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

/** Another database with the same content. Nobody may be using the first. */
export async function copyOf(place: Place): Promise<Place> {
  const copy = await newPlace(place.engine);
  if (place.engine === 'sqlite') {
    for (const suffix of ['', '-wal']) {
      if (existsSync(`${pathOf(place)}${suffix}`))
        copyFileSync(`${pathOf(place)}${suffix}`, `${pathOf(copy)}${suffix}`);
    }
    return copy;
  }
  const [from, to] = [place, copy].map(({ url }) => new URL(url).pathname.slice(1));
  const server = new URL(place.url);
  server.pathname = '/postgres';
  await onDatabase(server.href, async (client: pg.Client) => {
    await client.query(`DROP DATABASE ${to}`);
    await client.query(`CREATE DATABASE ${to} TEMPLATE ${from}`);
  });
  return copy;
}

/** What stands: every table, column and index but the migrator's own. */
export async function shapeOf(place: Place): Promise<string> {
  if (place.engine === 'sqlite' && !existsSync(pathOf(place))) return '[]';
  const text =
    place.engine === 'sqlite'
      ? `SELECT name, sql FROM sqlite_schema WHERE tbl_name <> 'schema_migrations' ORDER BY name`
      : `SELECT table_name, column_name, data_type, is_nullable, column_default FROM information_schema.columns
           WHERE table_schema = 'public' AND table_name NOT IN ('schema_migrations', 'leases')
         UNION ALL SELECT tablename, indexname, indexdef, '', '' FROM pg_indexes
           WHERE schemaname = 'public' AND tablename NOT IN ('schema_migrations', 'leases')
         ORDER BY 1, 2`;
  return JSON.stringify(await onPlace(place, [{ text }]));
}

/** The last step that counts as taken. */
export async function versionOf(place: Place): Promise<number> {
  if (place.engine === 'sqlite' && !existsSync(pathOf(place))) return 0;
  try {
    const [row] = await onPlace(place, [{ text: 'SELECT MAX(version) AS version FROM schema_migrations' }]);
    return Number(row?.version ?? 0);
  } catch (error) {
    // No such table, on either engine.
    if (/schema_migrations/.test((error as Error).message)) return 0;
    throw error;
  }
}

/** The records that were put there, read without the program. */
export async function rowsOf(place: Place): Promise<string> {
  const text = 'SELECT conversation_id, created_at, sequence, id, doc FROM messages ORDER BY created_at, sequence';
  return JSON.stringify(await onPlace(place, [{ text }]));
}

/** A migrator that died has left its lease, on PostgreSQL. */
export async function isLeased(place: Place): Promise<boolean> {
  if (place.engine === 'sqlite') return false;
  const [table] = await onPlace(place, [{ text: `SELECT to_regclass('leases') AS found` }]);
  if (table?.found === null) return false;
  const now = 'EXTRACT(EPOCH FROM now())';
  const text = `SELECT holder FROM leases WHERE name = 'migrate' AND expires_at > ${now}`;
  return (await onPlace(place, [{ text }])).length > 0;
}

/** As if its time had passed. */
export async function passLease(place: Place): Promise<void> {
  if (await isLeased(place)) await onPlace(place, [{ text: 'UPDATE leases SET expires_at = 0' }]);
}
