import type { PageOrder } from '../../contract/message.ts';

/** The SQL of the embedded engine alone. Parameters are positional. */

/**
 * The version of a conversation and, where a first message is given, its position: null where that message does not exist.
 * Parameters: [first_id,] conversation_id, app_id[, user].
 */
function findConversation(hasFirst: boolean, hasUser: boolean): string {
  return `
    SELECT c.version ${hasFirst ? ', f.created_at, f.sequence' : ''}
    FROM conversations c
    ${hasFirst ? 'LEFT JOIN messages f ON f.conversation_id = c.conversation_id AND f.id = ?' : ''}
    WHERE c.conversation_id = ? AND c.app_id = ? AND c.deleted = 0 ${hasUser ? 'AND c."user" = ?' : ''}`;
}

/**
 * The newest messages, or those before a position, as one text: returning a row for each costs twice as much. `parts` lists
 * each id with the length of its text in bytes. Parameters: conversation_id[, created_at, sequence], count.
 *
 * The unary plus hides the bound LIMIT from the planner: SQLite would make a new plan for each value that is bound
 * (https://sqlite.org/c3ref/prepare.html).
 */
function joinMessages(hasFirst: boolean, page_order: PageOrder): string {
  const newest = `
    SELECT id, doc, created_at, sequence FROM messages
    WHERE conversation_id = ? ${hasFirst ? 'AND (created_at, sequence) < (?, ?)' : ''}
    ORDER BY created_at DESC, sequence DESC LIMIT +?`;
  const ordered = page_order === 'newest_first' ? newest : `SELECT * FROM (${newest}) ORDER BY created_at, sequence`;
  return `
    SELECT COUNT(*) AS count, CAST(group_concat(doc, ',') AS BLOB) AS docs,
      group_concat(id || ' ' || octet_length(doc), ' ') AS parts
    FROM (${ordered})`;
}

/** The two statements of a page, in each form. */
export const pageStatements = {
  conversation: {
    newest: { anyUser: findConversation(false, false), user: findConversation(false, true) },
    older: { anyUser: findConversation(true, false), user: findConversation(true, true) },
  },
  messages: {
    newest: { newest_first: joinMessages(false, 'newest_first'), oldest_first: joinMessages(false, 'oldest_first') },
    older: { newest_first: joinMessages(true, 'newest_first'), oldest_first: joinMessages(true, 'oldest_first') },
  },
};

/** An older time never replaces a newer one. Parameters: time, id. */
export const noteKeyUse = 'UPDATE api_keys SET last_used_at = MAX(COALESCE(last_used_at, 0), ?) WHERE id = ?';

/** Stores the present text as the next revision. Parameters: replaced_at, key_id, dataset_id, id. */
export const addRevision = `
  INSERT INTO child_chunk_revisions (dataset_id, child_chunk_id, revision, content, replaced_at, key_id)
  SELECT c.dataset_id, c.id, 1 + COALESCE((
      SELECT MAX(r.revision) FROM child_chunk_revisions r WHERE r.dataset_id = c.dataset_id AND r.child_chunk_id = c.id
    ), 0), c.content, CAST(? AS BIGINT), CAST(? AS TEXT)
  FROM child_chunks c WHERE c.dataset_id = ? AND c.id = ?`;

/** Parameters: content, word_count, updated_at, version, dataset_id, id. */
export const replaceChildChunk = `
  UPDATE child_chunks SET content = ?, word_count = ?, type = 'customized', updated_at = ?, version = ?
  WHERE dataset_id = ? AND id = ?`;

/** Writes nothing where the message exists already. The text is bound as bytes. */
export const insertMessage = `
  INSERT INTO messages (conversation_id, created_at, sequence, id, doc) VALUES (?, ?, ?, ?, CAST(? AS TEXT))
  ON CONFLICT (conversation_id, id) DO NOTHING`;
/** A message's position and the fields that give its usage. */
export const findMessage = `
  SELECT created_at, sequence, doc ->> 'total_tokens' AS total_tokens, doc ->> 'total_price' AS total_price,
    doc ->> 'currency' AS currency
  FROM messages WHERE conversation_id = ? AND id = ?`;
/** Parameters: created_at, doc as bytes, conversation_id, stored created_at, sequence. */
export const replaceMessage = `
  UPDATE messages SET created_at = ?, doc = CAST(? AS TEXT)
  WHERE conversation_id = ? AND created_at = ? AND sequence = ?`;
export const findSequence = 'SELECT next_sequence, app_id FROM conversations WHERE conversation_id = ?';
/** Parameters: next_sequence, version, conversation_id twice. */
export const advanceConversation = `
  UPDATE conversations SET next_sequence = ?, version = ?, last_message_at = (
    SELECT MAX(created_at) FROM messages WHERE conversation_id = ?
  ) WHERE conversation_id = ?`;
