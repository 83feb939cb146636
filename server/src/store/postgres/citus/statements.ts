import type { SearchWindows } from '../../base/engine.ts';
import type { StoredMessage } from '../../base/message-tables.ts';
import type { Statement } from '../../base/statement.ts';
import { derivedColumns, updatedAt } from '../../tables/conversation-columns.ts';
import * as oneServer from '../server/locks.ts';
import { parseStored, storedFields } from '../server/messages.ts';
import type { PageRow } from '../server/page.ts';
import { pageColumns } from '../server/statements.ts';

/**
 * SQL for tables that are distributed over the nodes of a Citus cluster. Each statement reads or writes one table on one
 * shard and compares the distribution column with one value. Citus plans such a statement once ("fast path"). It plans joins,
 * subqueries and lists again each time, or sends parts of them to all nodes.
 */

/** Parameters: conversation_id, app_id[, user]. */
export const findConversation = (hasUser: boolean): Statement<{ version: string }> => `
  SELECT version FROM conversations
  WHERE conversation_id = ?/*@*/ AND app_id = ? AND deleted = 0 ${hasUser ? 'AND "user" = ?' : ''}`;

/** Parameters: conversation_id, id. */
export const findPosition: Statement<{ created_at: number; sequence: number }> =
  'SELECT created_at, sequence FROM messages WHERE conversation_id = ?/*@*/ AND id = ?';

/** Messages, newest first. Parameters: conversation_id[, created_at and sequence of the first message], count. */
export const findMessages = (hasFirst: boolean, columns: keyof typeof pageColumns): Statement<PageRow> => `
  SELECT ${pageColumns[columns]} FROM messages m
  WHERE m.conversation_id = ?/*@*/ ${hasFirst ? 'AND (m.created_at, m.sequence) < (?, ?)' : ''}
  ORDER BY m.created_at DESC, m.sequence DESC LIMIT ?`;

/** Which of these messages exist, with the fields for their usage and those that a record may omit. Parameters: conversation_id, ids. */
export const findStoredMessages: Statement<StoredMessage> = `
  SELECT conversation_id, id, created_at, CAST(CAST(doc AS json) ->> 'total_tokens' AS float8) AS total_tokens,
    CAST(doc AS json) ->> 'total_price' AS total_price, CAST(doc AS json) ->> 'currency' AS currency,
    CAST(doc AS json) ->> 'feedback' AS feedback, CAST(doc AS json) ->> 'inputs' AS inputs,
    CAST(doc AS json) ->> 'status' AS status, feedback_content, rated_at, model_provider, model
  FROM messages WHERE conversation_id = ?/*@*/ AND id = ANY(?)`;

/** Which of these messages exist, on all shards of their conversations. Parameters: conversation ids, ids. */
export const findManyStoredMessages: Statement<StoredMessage> = `
  SELECT ${storedFields}
  FROM unnest($1::text[], $2::text[]) AS given (conversation_id, id)
  JOIN messages m ON m.conversation_id = given.conversation_id AND m.id = given.id
  ${parseStored}
  WHERE m.conversation_id = ANY($1)/*@*/`;

/** Parameters: conversation_id. */
export const findNewestTime: Statement<{ created_at: number | null }> =
  'SELECT MAX(created_at) AS created_at FROM messages WHERE conversation_id = ?/*@*/';

const { derived_name, derived_inputs } = derivedColumns.postgres;
/** Parameters: conversation_id. */
export const findFirst: Statement<{ created_at: number; derived_name: string | null; derived_inputs: string }> = `
  SELECT created_at, ${derived_name} AS derived_name, ${derived_inputs} AS derived_inputs
  FROM messages WHERE conversation_id = ?/*@*/ ORDER BY created_at, sequence LIMIT 1`;

/** Parameters: conversation_id, newest time; time, derived_name and derived_inputs of the first message; all null if there are none. */
export const setActivity = `
  UPDATE conversations SET last_message_at = COALESCE($2::bigint, 0), first_message_at = $3::bigint, derived_name = $4,
    derived_inputs = $5, updated_at = ${updatedAt('created_at', '$2::bigint', 'renamed_at', 'record_updated_at')}
  WHERE conversation_id = $1/*@*/`;

/** A statement on every shard takes ten milliseconds and more, whatever it reads. So few read much. */
export const searchWindows: SearchWindows = { days: 92, fast: 1_000, slow: 1_500, tooSlow: 2_000 };

/** On every node that the transaction uses. */
export const limitLocks = (millis: number): Statement =>
  `SET LOCAL citus.propagate_set_commands = 'local'; ${oneServer.limitLocks(millis)}`;

/** See `Dialect`. Citus names its prepared transactions `citus_…`. Each call opens a connection to every node. */
export const unfinished = {
  find: `
    SELECT unnest(CASE WHEN success THEN string_to_array(result, ' ') ELSE ARRAY['node ' || nodeid] END) AS id
    FROM run_command_on_all_nodes($command$
      SELECT COALESCE(string_agg(gid, ' '), '') FROM pg_prepared_xacts
      WHERE database = current_database() AND gid LIKE 'citus\\_%' $command$)`,
  pause: 'SELECT pg_sleep(0.02)',
};
