import { shardMark } from '../../base/distribution.ts';
import type { Reader } from '../../base/engine.ts';
import type { Statement, Value } from '../../base/statement.ts';

/** The nodes of a Citus cluster, and those of a statement. All statements here have `$1`, `$2`, … for their parameters. */

/** `groupid` identifies a node and its standbys. */
export type Node = { groupid: number; nodename: string; nodeport: number };

const findCatalog: Statement<{ found: boolean }> = `SELECT to_regclass('pg_dist_node') IS NOT NULL AS found`;
const findOthers: Statement<Node> = `
  SELECT groupid, nodename, nodeport FROM pg_dist_node
  WHERE isactive AND noderole = 'primary' AND groupid <> (SELECT groupid FROM pg_dist_local_group)
    AND EXISTS (SELECT 1 FROM pg_dist_partition WHERE logicalrelid = to_regclass('conversations'))`;
/** Opens a connection to the node. Parameters: name, port. */
export const probeNode = 'SELECT citus_check_connection_to_node($1, $2)';
/** All distributed tables have the same shards. Parameters: distribution values. */
const findShardNodes: Statement<{ groupid: number }> = `
  SELECT DISTINCT p.groupid FROM unnest(CAST($1 AS text[])) AS value
  JOIN pg_dist_placement p ON p.shardid = get_shard_id_for_distribution_column('conversations', value)`;

/** The other nodes; none if the tables are not distributed. */
export async function findOtherNodes(read: Reader): Promise<Node[]> {
  const [catalog] = await read(findCatalog);
  return catalog?.found ? read(findOthers) : [];
}

/** The distribution value that a statement marks, or the list of them. */
export function markedValue({ text, values }: { text: string; values: readonly Value[] }): Value | undefined {
  const [before = '', after] = text.split(shardMark, 2);
  return after === undefined ? undefined : values[Number.parseInt(before.slice(before.lastIndexOf('$') + 1), 10) - 1];
}

/** The nodes that have the rows with these distribution values. `read` runs on any node, and needs no other. */
export const findNodesOf = (values: Value, read: Reader): Promise<{ groupid: number }[]> =>
  read(findShardNodes, Array.isArray(values) ? values : [values as string]);
