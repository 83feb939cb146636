import { distribution } from '../../base/distribution.ts';
import type { Statement } from '../../base/statement.ts';
import type { PostgresPool } from '../pool/pool.ts';

/**
 * Distributes the tables over the nodes of a Citus cluster. `leases` and `schema_migrations` come first, before the schema
 * steps: from then on the distribution is started, and every later migration completes it, also after a crash. The tables
 * of a schema step are distributed before the next step.
 */

/** Copying a large table to the nodes takes long. */
const statementMillis = 3_600_000;

/** For one transaction. A connection to each shard is opened, and the limit that suits requests is too short for that. */
export const patience = `SET LOCAL citus.node_connection_timeout = '60s'`;

const { control, reference, distributed, single } = distribution;
const allTables = [...control, ...reference, ...Object.keys(distributed), ...single];

/** `copied`: it is distributed, and the rows from before are still on the coordinator's disk. */
type TableState = 'local' | 'copied' | 'distributed';

export type Cluster = {
  /** Only the coordinator can create and distribute tables. */
  isCoordinator: boolean;
  /** Tables that exist, by name. */
  tables: ReadonlyMap<string, TableState>;
};

/** Undefined if the database does not have the extension. */
export async function findCluster(pool: PostgresPool): Promise<Cluster | undefined> {
  if ((await pool.query(`SELECT 1 FROM pg_extension WHERE extname = 'citus'`)).length === 0) return undefined;
  const [group] = await pool.query('SELECT groupid FROM pg_dist_local_group');
  const rows = await pool.query(tableStates, allTables);
  const tables = new Map(rows.map(({ name, state }) => [name, state]));
  return { isCoordinator: group?.groupid === 0, tables };
}

/** Parameter: names of tables. */
const tableStates: Statement<{ name: string; state: TableState }> = `
  SELECT name, CASE WHEN d.logicalrelid IS NULL THEN 'local'
    WHEN pg_relation_size(d.logicalrelid) > 0 THEN 'copied' ELSE 'distributed' END AS state
  FROM unnest($1::text[]) AS name LEFT JOIN pg_dist_partition d ON d.logicalrelid = to_regclass(name)
  WHERE to_regclass(name) IS NOT NULL`;

/** Whether the statements of the service run on distributed tables. */
export async function isDistributed(pool: PostgresPool): Promise<boolean> {
  const state = (await findCluster(pool))?.tables.get('conversations') ?? 'local';
  return state !== 'local';
}

/** The tables that a started distribution has left to do. */
export function remainingTables(cluster: Cluster | undefined): string[] {
  const { tables = new Map<string, TableState>() } = cluster ?? {};
  const isStarted = tables.values().some((state) => state !== 'local');
  return isStarted ? allTables.filter((table) => tables.get(table) !== 'distributed') : [];
}

/** Distributes the tables that exist. Those that are already distributed are unchanged. */
export async function distribute(pool: PostgresPool): Promise<void> {
  const cluster = await findCluster(pool);
  if (cluster === undefined) throw new Error('the database does not have the extension citus');
  for (const statements of distributionSteps(cluster.tables)) {
    await pool.transaction(async (transaction) => {
      await transaction.query(patience);
      for (const statement of statements) await transaction.query(statement);
    }, statementMillis);
  }
}

/**
 * One step for each table, in one transaction. All tables are colocated: the messages of a conversation, the chunks of a
 * dataset, and the audit entries of either are on one node. The change feed is on one node as a whole.
 */
export function distributionSteps(tables: Cluster['tables']): string[][] {
  const firstTables = new Map<string, string>();
  const steps: string[][] = [];
  const add = (table: string, call: string) => {
    // Otherwise the rows from before stay on the coordinator's disk, also those that are erased later.
    const truncate = `SELECT truncate_local_data_after_distributing_table('${table}')`;
    const state = tables.get(table);
    if (state === 'local') steps.push([call, truncate]);
    else if (state === 'copied') steps.push([truncate]);
  };
  for (const table of [...control, ...reference]) add(table, `SELECT create_reference_table('${table}')`);
  for (const [table, column] of Object.entries(distributed)) {
    const colocated = firstTables.get(column) ?? [...firstTables.values()][0] ?? 'none';
    add(table, `SELECT create_distributed_table('${table}', '${column}', colocate_with => '${colocated}')`);
    if (!firstTables.has(column)) firstTables.set(column, table);
  }
  for (const table of single) {
    const colocated = table === single[0] ? 'none' : single[0];
    add(table, `SELECT create_distributed_table('${table}', NULL, colocate_with => '${colocated}')`);
  }
  return steps;
}
