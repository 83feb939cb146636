import { pageColumns } from '../statements.ts';

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
  FROM child_chunks WHERE dataset_id = ? AND id = ? AND segment_id = ? FOR UPDATE`;

/** Parameters: dataset_id, child_chunk_id. */
export const findLastRevision = `
  SELECT MAX(revision) AS revision FROM child_chunk_revisions WHERE dataset_id = ? AND child_chunk_id = ?`;

/** Parameters: dataset_id, child_chunk_id, revision, content, replaced_at, key_id. */
export const addRevision = `
  INSERT INTO child_chunk_revisions (dataset_id, child_chunk_id, revision, content, replaced_at, key_id)
  VALUES (?, ?, ?, ?, ?, ?)`;

/** See `openConversations` of PostgreSQL. Parameters: count, version, newest time twice, conversation_id, count. */
export const openConversation = `
  UPDATE conversations SET next_sequence = next_sequence + CAST(? AS BIGINT), version = ?,
    last_message_at = CASE WHEN next_sequence = 1 THEN CAST(? AS BIGINT) ELSE GREATEST(last_message_at, CAST(? AS BIGINT)) END
  WHERE conversation_id = ? RETURNING conversation_id, app_id, next_sequence - CAST(? AS BIGINT) AS first_sequence`;

/** Which of these messages exist, with the fields for their usage. Parameters: conversation_id, ids. */
export const findStoredMessages = `
  SELECT conversation_id, id, created_at, CAST(doc AS json) ->> 'total_tokens' AS total_tokens,
    CAST(doc AS json) ->> 'total_price' AS total_price, CAST(doc AS json) ->> 'currency' AS currency
  FROM messages WHERE conversation_id = ? AND id = ANY(?)`;

/** Parameters: conversation_id, created_at, sequence, id, doc. */
export const insertMessage = `
  INSERT INTO messages (conversation_id, created_at, sequence, id, doc) VALUES (?, ?, ?, ?, ?)
  ON CONFLICT (conversation_id, id) DO UPDATE SET created_at = excluded.created_at, doc = excluded.doc`;

/** Parameters: conversation_id. */
export const findNewestTime = 'SELECT MAX(created_at) AS created_at FROM messages WHERE conversation_id = ?';

/** Parameters: last_message_at, conversation_id. */
export const setActivity = 'UPDATE conversations SET last_message_at = ? WHERE conversation_id = ?';
