import pg from 'pg';
import { databaseAt, newMigratedUrl } from './harness.ts';

/** Query plans of PostgreSQL, for tests that check which indexes a statement uses. */

/** A migrated database that tests fill and query directly, without the service. */
export async function openPostgres(): Promise<{ client: pg.Client; close: () => Promise<void> }> {
  const { url, remove } = await newMigratedUrl('postgres');
  await databaseAt(url).migrate(1);
  const client = new pg.Client(url);
  await client.connect();
  const close = async () => {
    await client.end();
    await remove();
  };
  return { client, close };
}

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

const stepsOf = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(stepsOf)];

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

/** Runs a statement and returns its plan; its writes are rolled back. */
export async function explain(client: pg.Client, text: string, values: unknown[] = []): Promise<Plan> {
  await client.query('BEGIN');
  const { rows } = await client.query(`EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${text}`, values);
  await client.query('ROLLBACK');
  return rows[0]['QUERY PLAN'][0].Plan;
}
