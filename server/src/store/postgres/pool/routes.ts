import type { Reader } from '../../base/engine.ts';
import type { Statement, Value } from '../../base/statement.ts';
import { distribution } from '../../schema/schema.ts';

/**
 * Which nodes of a Citus cluster a statement needs, as Citus itself finds them: by its tables and its distribution value.
 * All statements here have `$1`, `$2`, … for their parameters.
 */

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
const findSingleNode: Statement<{ groupid: number }> = `
  SELECT p.groupid FROM pg_dist_shard s JOIN pg_dist_placement p ON p.shardid = s.shardid
  WHERE s.logicalrelid = to_regclass('changes_head')`;

/** The other nodes; none if the tables are not distributed. */
export async function findOtherNodes(read: Reader): Promise<Node[]> {
  const [catalog] = await read(findCatalog);
  return catalog?.found ? read(findOthers) : [];
}

/** `local`: the node that runs the statement has its tables. */
type Route = { kind: 'local' | 'all' | 'single' } | { kind: 'shards'; parameter: number };

const { control, reference, distributed, single } = distribution;
const columns = [...new Set(Object.values(distributed))].join('|');

export function routeOf(text: string): Route {
  const tables = [...text.matchAll(/\b(?:FROM|JOIN|INTO|UPDATE|TRUNCATE)\s+([a-z_]+)/gi)].map(([, name = '']) => name);
  if (tables.some((table) => Object.hasOwn(distributed, table))) {
    const parameter = insertedParameter(text) ?? comparedParameter(text);
    return parameter === undefined ? { kind: 'all' } : { kind: 'shards', parameter };
  }
  if (tables.some((table) => single.includes(table))) return { kind: 'single' };
  const isWrite = /^\s*(?:INSERT|UPDATE|DELETE|TRUNCATE)\b/i.test(text);
  const isOnEveryNode = tables.some((table) => control.includes(table) || reference.includes(table));
  return { kind: isWrite && isOnEveryNode ? 'all' : 'local' };
}

function comparedParameter(text: string): number | undefined {
  const [, number] = new RegExp(`\\b(?:${columns}) = (?:ANY\\()?\\$(\\d+)`).exec(text) ?? [];
  return number === undefined ? undefined : Number(number);
}

/** The parameter for the distribution column, of one row or of a list of rows. Many rows with parameters have several. */
function insertedParameter(text: string): number | undefined {
  if (/\bVALUES\s*\(.*\),\s*\(/is.test(text)) return undefined;
  const [, table = '', names = '', values = ''] =
    /^\s*INSERT INTO (\w+) \(([^)]*)\)\s*(?:VALUES\s*\(|SELECT[^(]*\bFROM unnest\()([^)]*)/i.exec(text) ?? [];
  const at = names.split(/,\s*/).indexOf(distributed[table] ?? '');
  const [, number] = /^\$(\d+)/.exec(values.split(/,\s*/)[at] ?? '') ?? [];
  return number === undefined ? undefined : Number(number);
}

/** The nodes of a statement; undefined for all. `read` runs on the node that runs the statement. */
export async function findNodesOf(
  route: Route,
  values: readonly Value[],
  read: Reader,
): Promise<readonly number[] | undefined> {
  switch (route.kind) {
    case 'local':
      return [];
    case 'all':
      return undefined;
    case 'single':
      return (await read(findSingleNode)).map(({ groupid }) => groupid);
    case 'shards': {
      const value = values[route.parameter - 1];
      const rows = await read(findShardNodes, Array.isArray(value) ? value : [value as string]);
      return rows.map(({ groupid }) => groupid);
    }
  }
}
