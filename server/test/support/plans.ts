import { DatabaseSync } from 'node:sqlite';
import pg from 'pg';
import { readConfig } from '../../src/config.ts';
import { databaseOf } from '../../src/store/open.ts';
import { newDatabaseUrl } from './harness.ts';

/** How engines go about a statement, for tests that hold it to its indexes. */

/** A migrated database, to be filled and asked past the service. */
export async function openPostgres(): Promise<{ client: pg.Client; close: () => Promise<void> }> {
  const { url, remove } = await migrated('postgres');
  const client = new pg.Client(url);
  await client.connect();
  const close = async () => {
    await client.end();
    await remove();
  };
  return { client, close };
}

export async function openSqlite(): Promise<{ db: DatabaseSync; close: () => Promise<void> }> {
  const { url, remove } = await migrated('sqlite');
  const db = new DatabaseSync(url.replace('sqlite:', ''));
  db.exec('PRAGMA synchronous = OFF');
  const close = async () => {
    db.close();
    await remove();
  };
  return { db, close };
}

async function migrated(engine: 'sqlite' | 'postgres') {
  const database = await newDatabaseUrl(engine);
  await databaseOf(readConfig({ DATABASE_URL: database.url })).migrate(1);
  return database;
}

/** The steps that SQLite takes. */
export const planOf = (db: DatabaseSync, text: string): string[] =>
  db
    .prepare(`EXPLAIN QUERY PLAN ${text}`)
    .all(...Array(text.split('?').length - 1).fill(null))
    .map(({ detail }) => String(detail));

/** Whether a step of SQLite's reads a whole table, sorts, or makes an index that should be there. */
export const isWasteful = (step: string): boolean => /^SCAN|TEMP B-TREE|AUTOMATIC/.test(step);

/** What the planner of PostgreSQL says of one step: only what is asked for here. */
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

/** Rows that scans have touched, also those they threw away. */
export function rowsRead(plan: Plan, counts: (step: Plan) => boolean = () => true): number {
  return stepsOf(plan)
    .filter((step) => step['Relation Name'] !== undefined && counts(step))
    .map((step) => {
      const dropped = (step['Rows Removed by Filter'] ?? 0) + (step['Rows Removed by Index Recheck'] ?? 0);
      return ((step['Actual Rows'] ?? 0) + dropped) * (step['Actual Loops'] ?? 1);
    })
    .reduce((sum, rows) => sum + rows, 0);
}

/** A statement with its parameters as PostgreSQL spells them. */
export function spell(text: string): string {
  let at = 0;
  return text.replaceAll('?', () => `$${++at}`);
}

/** How a statement was carried out; whatever it wrote is undone. */
export async function explain(client: pg.Client, text: string, values: unknown[] = []): Promise<Plan> {
  await client.query('BEGIN');
  const { rows } = await client.query(`EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${text}`, values);
  await client.query('ROLLBACK');
  return rows[0]['QUERY PLAN'][0].Plan;
}
