import { DatabaseSync } from 'node:sqlite';
import pg from 'pg';
import type { Dialect, Reader, Value } from '../../src/store/base/engine.ts';
import { dialect as postgres } from '../../src/store/postgres/server/statements.ts';
import { withStablePlan } from '../../src/store/sqlite/connection.ts';
import { dialect as sqlite } from '../../src/store/sqlite/statements.ts';
import { databaseAt } from './database.ts';
import { newMigratedUrl } from './harness.ts';

/** Query plans, for tests that check which indexes a statement uses. */

export type { Dialect, Reader, Value };
export const dialects = { sqlite, postgres };

/** A migrated database that tests fill and query directly, without the service. */
export async function openPostgres(): Promise<{ client: pg.Client; read: Reader; close: () => Promise<void> }> {
  const { url, remove } = await createMigrated('postgres');
  const client = new pg.Client(url);
  await client.connect();
  const close = async () => {
    await client.end();
    await remove();
  };
  const read: Reader = async (text, ...values) => (await client.query(numberParameters(text), values)).rows;
  return { client, read, close };
}

export async function openSqlite(): Promise<{ db: DatabaseSync; read: Reader; close: () => Promise<void> }> {
  const { url, remove } = await createMigrated('sqlite');
  const db = new DatabaseSync(url.replace('sqlite:', ''));
  db.exec('PRAGMA synchronous = OFF');
  const close = async () => {
    db.close();
    await remove();
  };
  const read: Reader = async (text, ...values) => db.prepare(text).all(...(values as string[])) as never[];
  return { db, read, close };
}

async function createMigrated(engine: 'sqlite' | 'postgres') {
  const database = await newMigratedUrl(engine);
  await databaseAt(database.url).migrate(1);
  return database;
}

/** The steps of SQLite's query plan. */
export const planOf = (db: DatabaseSync, text: string): string[] =>
  db
    .prepare(`EXPLAIN QUERY PLAN ${withStablePlan(text)}`)
    .all(...Array(text.split('?').length - 1).fill(null))
    .map(({ detail }) => String(detail));

/** Whether a step of SQLite's plan scans a whole table, sorts, or builds a temporary index. */
export const isWasteful = (step: string): boolean => /^SCAN|TEMP B-TREE|AUTOMATIC/.test(step);

/** One step of PostgreSQL's query plan: only the fields used here. */
export type Plan = {
  'Node Type': string;
  'Relation Name'?: string;
  Alias?: string;
  'Index Name'?: string;
  'Index Cond'?: string;
  'Scan Direction'?: string;
  'Actual Rows'?: number;
  'Actual Loops'?: number;
  'Rows Removed by Filter'?: number;
  'Rows Removed by Index Recheck'?: number;
  'Shared Hit Blocks'?: number;
  'Shared Read Blocks'?: number;
  Plans?: Plan[];
};

export const stepsOf = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(stepsOf)];

export const describePlan = (plan: Plan): string =>
  stepsOf(plan)
    .map((step) => [step['Node Type'], step.Alias, step['Index Name'], step['Index Cond']].filter(Boolean).join(' '))
    .join(' / ');

/** Number of rows read by scans, including those filtered out. */
export function rowsRead(plan: Plan, isCounted: (step: Plan) => boolean = () => true): number {
  return stepsOf(plan)
    .filter((step) => step['Relation Name'] !== undefined && isCounted(step))
    .map((step) => {
      const removed = (step['Rows Removed by Filter'] ?? 0) + (step['Rows Removed by Index Recheck'] ?? 0);
      return ((step['Actual Rows'] ?? 0) + removed) * (step['Actual Loops'] ?? 1);
    })
    .reduce((sum, rows) => sum + rows, 0);
}

/** Replaces `?` by PostgreSQL's numbered parameters. */
export function numberParameters(text: string): string {
  let at = 0;
  return text.replaceAll('?', () => `$${++at}`);
}

/** Runs a statement and returns its plan; its writes are rolled back. */
export async function explain(client: pg.Client, text: string, values: unknown[] = []): Promise<Plan> {
  await client.query('BEGIN');
  const { rows } = await client.query(`EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${text}`, values);
  await client.query('ROLLBACK');
  return rows[0]['QUERY PLAN'][0].Plan;
}
