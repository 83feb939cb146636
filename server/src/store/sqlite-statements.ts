/** What only the embedded engine says. Parameters are positional. */

/**
 * A page, in four forms: with and without a first message, with and without a user. Every row carries the
 * conversation's version. Where that is the one that is held, and where there are no messages, one row comes back whose
 * message is null: comparing the key with an impossible one keeps SQLite from looking at any message.
 *
 * The unary plus takes the affinity off the columns; without it SQLite compares only the first of the two by index, and
 * walks through all messages of the same second.
 *
 * Parameters: [first_id,] held version, conversation_id, app_id[, user], count.
 */
export function findPage(hasFirst: boolean, hasUser: boolean): string {
  return `
    SELECT c.version, ${hasFirst ? 'f.id IS NOT NULL' : '1'} AS first_message_exists, m.id, CAST(m.doc AS BLOB) AS doc
    FROM conversations c
    ${hasFirst ? 'LEFT JOIN messages f ON f.conversation_id = c.conversation_id AND f.id = ?' : ''}
    LEFT JOIN messages m ON m.conversation_id = CASE c.version WHEN ? THEN '' ELSE c.conversation_id END
      ${hasFirst ? 'AND (m.created_at, m.sequence) < (+f.created_at, +f.sequence)' : ''}
    WHERE c.conversation_id = ? AND c.app_id = ? AND c.deleted = 0 ${hasUser ? 'AND c."user" = ?' : ''}
    ORDER BY m.created_at DESC, m.sequence DESC LIMIT ?`;
}

/** Keeps the text that stands as the next revision. Parameters: replaced_at, key_id, dataset_id, id. */
export const keepRevision = `
  INSERT INTO child_chunk_revisions (dataset_id, child_chunk_id, revision, content, replaced_at, key_id)
  SELECT c.dataset_id, c.id, 1 + COALESCE((
      SELECT MAX(r.revision) FROM child_chunk_revisions r WHERE r.dataset_id = c.dataset_id AND r.child_chunk_id = c.id
    ), 0), c.content, CAST(? AS BIGINT), CAST(? AS TEXT)
  FROM child_chunks c WHERE c.dataset_id = ? AND c.id = ?`;

/** Parameters: content, word_count, updated_at, version, dataset_id, id. */
export const replaceChildChunk = `
  UPDATE child_chunks SET content = ?, word_count = ?, type = 'customized', updated_at = ?, version = ?
  WHERE dataset_id = ? AND id = ?`;

/** Writes nothing where the message is there already. The text is bound as bytes. */
export const insertMessage = `
  INSERT INTO messages (conversation_id, created_at, sequence, id, doc) VALUES (?, ?, ?, ?, CAST(? AS TEXT))
  ON CONFLICT (conversation_id, id) DO NOTHING`;
export const findMessage = 'SELECT created_at, sequence FROM messages WHERE conversation_id = ? AND id = ?';
/** Parameters: created_at, doc as bytes, conversation_id, stored created_at, sequence. */
export const replaceMessage = `
  UPDATE messages SET created_at = ?, doc = CAST(? AS TEXT)
  WHERE conversation_id = ? AND created_at = ? AND sequence = ?`;
export const findSequence = 'SELECT next_sequence FROM conversations WHERE conversation_id = ?';
export const advanceConversation = `
  UPDATE conversations SET next_sequence = ?, version = ? WHERE conversation_id = ?`;

export const findDatasetOf = {
  document: 'SELECT dataset_id FROM documents WHERE id = ?',
  segment: 'SELECT dataset_id FROM segments WHERE id = ?',
  child_chunk: 'SELECT dataset_id FROM child_chunks WHERE id = ?',
};
