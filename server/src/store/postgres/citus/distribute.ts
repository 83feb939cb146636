import { distribution } from '../../schema/schema.ts';
import type { PostgresPool } from '../pool.ts';

/**
 * Distributes the tables over the nodes of a Citus cluster. `leases` and `schema_migrations` come first, before the schema
 * steps: from then on the distribution is started, and every later migration completes it, also after a crash.
 */

/** Copying a large table to the nodes takes long. */
const statementMillis = 3_600_000;

const controlTables: readonly string[] = distribution.control;
const referenceTables: readonly string[] = distribution.reference;
const distributedTables: Readonly<Record<string, string>> = distribution.distributed;
const singleTables: readonly string[] = distribution.single;

export type Cluster = {
  /** Only the coordinator can create and distribute tables. */
  isCoordinator: boolean;
  /** Tables that are distributed, by name. `hasLocalRows`: the rows from before are still on the coordinator's disk. */
  tables: ReadonlyMap<string, { hasLocalRows: boolean }>;
};

/** Undefined if the database does not have the extension. */
export async function findCluster(pool: PostgresPool): Promise<Cluster | undefined> {
  if ((await pool.query(`SELECT 1 FROM pg_extension WHERE extname = 'citus'`)).length === 0) return undefined;
  const [group] = await pool.query('SELECT groupid FROM pg_dist_local_group');
  const rows = await pool.query(
    'SELECT logicalrelid::text AS name, pg_relation_size(logicalrelid) > 0 AS "hasLocalRows" FROM pg_dist_partition',
  );
  const tables = new Map(
    rows.map(({ name, hasLocalRows }) => [name as string, { hasLocalRows: hasLocalRows === true }]),
  );
  return { isCoordinator: group?.groupid === 0, tables };
}

/** Whether the statements of the service run on distributed tables. */
export async function isDistributed(pool: PostgresPool): Promise<boolean> {
  return (await findCluster(pool))?.tables.has('conversations') ?? false;
}

/** The tables that a started distribution has left to do. */
export function remainingTables(cluster: Cluster | undefined): string[] {
  if (cluster === undefined || !allTables().some((table) => cluster.tables.has(table))) return [];
  return allTables().filter((table) => cluster.tables.get(table)?.hasLocalRows ?? true);
}

const allTables = () => [...controlTables, ...referenceTables, ...Object.keys(distributedTables), ...singleTables];

/** Tables that are already distributed are unchanged. */
export async function distribute(pool: PostgresPool, which: 'control' | 'all'): Promise<void> {
  const cluster = await findCluster(pool);
  if (cluster === undefined) throw new Error('the database does not have the extension citus');
  for (const statements of distributionSteps(cluster.tables, which)) {
    await pool.transaction(async (transaction) => {
      for (const statement of statements) await transaction.query(statement);
    }, statementMillis);
  }
}

/**
 * One step for each table, in one transaction. All tables are colocated: the messages of a conversation, the chunks of a
 * dataset, and the audit entries of either are on one node. The change feed is on one node as a whole.
 */
export function distributionSteps(tables: Cluster['tables'], which: 'control' | 'all' = 'all'): string[][] {
  const firstTables = new Map<string, string>();
  const steps: string[][] = [];
  const add = (table: string, call: string) => {
    const state = tables.get(table);
    // Otherwise the rows from before stay on the coordinator's disk, also those that are erased later.
    const truncate = `SELECT truncate_local_data_after_distributing_table('${table}')`;
    if (state === undefined) steps.push([call, truncate]);
    else if (state.hasLocalRows) steps.push([truncate]);
  };
  const references = which === 'control' ? controlTables : [...controlTables, ...referenceTables];
  for (const table of references) add(table, `SELECT create_reference_table('${table}')`);
  if (which === 'control') return steps;
  for (const [table, column] of Object.entries(distributedTables)) {
    const colocated = firstTables.get(column) ?? [...firstTables.values()][0] ?? 'none';
    add(table, `SELECT create_distributed_table('${table}', '${column}', colocate_with => '${colocated}')`);
    if (!firstTables.has(column)) firstTables.set(column, table);
  }
  for (const table of singleTables) {
    const colocated = table === singleTables[0] ? 'none' : singleTables[0];
    add(table, `SELECT create_distributed_table('${table}', NULL, colocate_with => '${colocated}')`);
  }
  return steps;
}
