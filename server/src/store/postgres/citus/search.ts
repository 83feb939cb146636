import { limits } from '../../../contract/limits.ts';
import type { MessageKey } from '../../base/index-tables.ts';
import { query, type Statement } from '../../base/statement.ts';
import { indexTables } from '../server/search.ts';

/** Messages that a transaction writes at most. */
const clusterIndexWriteMax = 1_000;

/** Uses no node. Parameters: conversation ids. */
const findShards: Statement<{ conversation_id: string; shard: number }> = `
  SELECT conversation_id, get_shard_id_for_distribution_column('messages', conversation_id) AS shard
  FROM unnest(CAST(? AS text[])) AS conversation_id`;

/**
 * Citus locks rows of one shard by one statement. A transaction of the indexer writes on all nodes, which commit in two phases,
 * so it is larger than on one server. Citus streams a list of rows to their shards, unless a conflict has to be resolved: then
 * it copies the rows to the nodes first, and inserts them from there.
 */
export const index = indexTables({
  findMax: clusterIndexWriteMax,
  *groupsOf(keys) {
    const ids = [...new Set(keys.map(({ conversation_id }) => conversation_id))];
    const shards = new Map((yield* query(findShards, ids)).map((row) => [row.conversation_id, row.shard]));
    const byShard = Map.groupBy(keys, ({ conversation_id }) => shards.get(conversation_id) ?? 0);
    // In one order, so that two transactions never deadlock.
    return [...byShard].sort(([one], [other]) => one - other).flatMap(([, group]) => slicesOf(group));
  },
  deletesFirst: true,
});

/** Small enough that other requests are handled between the words of two. */
function slicesOf(keys: readonly MessageKey[]): (readonly MessageKey[])[] {
  const max = limits.indexWriteMax;
  return Array.from({ length: Math.ceil(keys.length / max) }, (_, at) => keys.slice(at * max, (at + 1) * max));
}
