import type { NodeState } from '../../../domain/store/monitoring.ts';
import type { Statement } from '../../base/statement.ts';
import type { PostgresPool } from '../pool/pool.ts';

/** Time that is waited for one node. Two such times are less than `metricsMillisMax`. */
const nodeMillisMax = 450;

type Node = { nodename: string; nodeport: number };

const listNodes: Statement<Node> = `
  SELECT nodename, nodeport FROM pg_dist_node WHERE isactive AND noderole = 'primary' ORDER BY nodename, nodeport`;
/** All connections to the server count against its `max_connections`. The views show these columns to every user. */
const state = `
  SELECT json_build_object(
    'backends', (SELECT SUM(numbackends) FROM pg_stat_database),
    'oldestPreparedSeconds', (
      SELECT COALESCE(EXTRACT(EPOCH FROM now() - MIN(prepared)), 0) FROM pg_prepared_xacts
      WHERE database = current_database() AND gid LIKE 'citus\\_%'))`;
/** Opens a connection to the node. Parameters: name, port. */
const readState: Statement<{ success: boolean; result: string }> = `
  SELECT success, result FROM master_run_on_worker(ARRAY[CAST(? AS text)], ARRAY[CAST(? AS integer)],
    ARRAY[$state$${state}$state$], false)`;

/** Each node is asked by a statement of its own: one that hangs hides only itself. */
export async function readNodes(pool: PostgresPool): Promise<NodeState[]> {
  const nodes = await pool.queryWithin(nodeMillisMax, listNodes);
  return Promise.all(
    nodes.map(async ({ nodename, nodeport }) => {
      const rows = await pool.queryWithin(nodeMillisMax, readState, nodename, nodeport).catch(() => []);
      const [read] = rows;
      return { name: `${nodename}:${nodeport}`, state: read?.success ? JSON.parse(read.result) : undefined };
    }),
  );
}
