import { derivedColumns, updatedAt } from '../../messages/conversation-columns.ts';
import { addedMessages, pageColumns, parseStored, storedFields } from '../statements.ts';

/**
 * SQL for tables that are distributed over the nodes of a Citus cluster. Each statement reads or writes one table on one
 * shard and compares the distribution column with one value. Citus plans such a statement once ("fast path"). It plans joins,
 * subqueries and lists again each time, or sends parts of them to all nodes.
 */

/** Parameters: conversation_id, app_id[, user]. */
export const findConversation = (hasUser: boolean): string => `
  SELECT version FROM conversations
  WHERE conversation_id = ? AND app_id = ? AND deleted = 0 ${hasUser ? 'AND "user" = ?' : ''}`;

/** Parameters: conversation_id, id. */
export const findPosition = 'SELECT created_at, sequence FROM messages WHERE conversation_id = ? AND id = ?';

/** Messages, newest first. Parameters: conversation_id[, created_at and sequence of the first message], count. */
export const findMessages = (hasFirst: boolean, columns: keyof typeof pageColumns): string => `
  SELECT ${pageColumns[columns]} FROM messages m
  WHERE m.conversation_id = ? ${hasFirst ? 'AND (m.created_at, m.sequence) < (?, ?)' : ''}
  ORDER BY m.created_at DESC, m.sequence DESC LIMIT ?`;

/** Parameters: content, word_count, now, new version, dataset_id, id, stored version. */
export const replaceChunk = `
  UPDATE child_chunks SET content = ?, word_count = ?, type = 'customized',
    updated_at = GREATEST(updated_at, ?), version = ?
  WHERE dataset_id = ? AND id = ? AND version = ? RETURNING updated_at`;

/** The chunk stays locked until the end of the transaction. Parameters: dataset_id, id, segment_id. */
export const lockChunk = `
  SELECT id, segment_id, content, position, word_count, type, created_at, updated_at, version
  FROM child_chunks WHERE dataset_id = ? AND id = ? AND segment_id = ? AND deleted = 0 FOR UPDATE`;

/** Parameters: dataset_id, child_chunk_id. */
export const findLastRevision = `
  SELECT MAX(revision) AS revision FROM child_chunk_revisions WHERE dataset_id = ? AND child_chunk_id = ?`;

/** Parameters: dataset_id, child_chunk_id, revision, content, replaced_at, key_id. */
export const addRevision = `
  INSERT INTO child_chunk_revisions (dataset_id, child_chunk_id, revision, content, replaced_at, key_id)
  VALUES (?, ?, ?, ?, ?, ?)`;

const addedValues: Record<string, string> = {
  newest: '$4::bigint',
  created_at: '$5::bigint',
  derived_name: '$6::text',
  derived_inputs: '$7::text',
};
/** See `openConversations` of PostgreSQL. Parameters: conversation_id, count, version, then as in `addedValues`. */
export const openConversation = `
  UPDATE conversations SET next_sequence = next_sequence + $2::bigint, version = $3,
    ${addedMessages((name) => addedValues[name] as string)}
  WHERE conversation_id = $1
  RETURNING conversation_id, app_id, next_sequence - $2::bigint AS first_sequence, first_message_at`;

/** Which of these messages exist, with the fields for their usage and those that a record may omit. Parameters: conversation_id, ids. */
export const findStoredMessages = `
  SELECT conversation_id, id, created_at, CAST(doc AS json) ->> 'total_tokens' AS total_tokens,
    CAST(doc AS json) ->> 'total_price' AS total_price, CAST(doc AS json) ->> 'currency' AS currency,
    CAST(doc AS json) ->> 'feedback' AS feedback, CAST(doc AS json) ->> 'inputs' AS inputs,
    CAST(doc AS json) ->> 'status' AS status, feedback_content, rated_at
  FROM messages WHERE conversation_id = ? AND id = ANY(?)`;

/** Which of these messages exist, on all shards of their conversations. Parameters: conversation ids, ids. */
export const findManyStoredMessages = `
  SELECT ${storedFields}
  FROM unnest($1::text[], $2::text[]) AS given (conversation_id, id)
  JOIN messages m ON m.conversation_id = given.conversation_id AND m.id = given.id
  ${parseStored}
  WHERE m.conversation_id = ANY($1)`;

/** Parameters: as in `messageColumns`. */
export const insertMessage = `
  INSERT INTO messages (conversation_id, created_at, sequence, id, doc, feedback_content, rated_at)
  VALUES (?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (conversation_id, id) DO UPDATE SET created_at = excluded.created_at, doc = excluded.doc,
    feedback_content = excluded.feedback_content, rated_at = excluded.rated_at`;

/** Parameters: conversation_id. */
export const findNewestTime = 'SELECT MAX(created_at) AS created_at FROM messages WHERE conversation_id = ?';

const { derived_name, derived_inputs } = derivedColumns.postgres;
/** Parameters: conversation_id. */
export const findFirst = `
  SELECT created_at, ${derived_name} AS derived_name, ${derived_inputs} AS derived_inputs
  FROM messages WHERE conversation_id = ? ORDER BY created_at, sequence LIMIT 1`;

/** Parameters: conversation_id, newest time; time, derived_name and derived_inputs of the first message. */
export const setActivity = `
  UPDATE conversations SET last_message_at = $2::bigint, first_message_at = $3::bigint, derived_name = $4,
    derived_inputs = $5, updated_at = ${updatedAt('created_at', '$2::bigint', 'renamed_at', 'record_updated_at')}
  WHERE conversation_id = $1`;
