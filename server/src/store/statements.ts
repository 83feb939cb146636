import type { Purge, Referable } from '../domain/store.ts';

/** The SQL of the service, in the subset that both engines take. Parameters are positional. */

const visible = 'c.conversation_id = ? AND c.app_id = ? AND c.deleted = 0';

/** Optional parts of a question about a conversation: four statements, each planned for its case. */
function conversation(select: string, joins: string, order: string) {
  return (hasUser: boolean): string =>
    `SELECT ${select} FROM conversations c ${joins} WHERE ${visible}${hasUser ? ' AND c."user" = ?' : ''} ${order}`;
}

const joinFirst = 'LEFT JOIN messages f ON f.conversation_id = c.conversation_id AND f.id = ?';

/** Parameters: [first_id,] conversation_id, app_id[, user]. */
export const findVersion = {
  latest: conversation('c.version, 1 AS first_message_exists', '', ''),
  before: conversation('c.version, f.id IS NOT NULL AS first_message_exists', joinFirst, ''),
};

const newestFirst = 'ORDER BY m.created_at DESC, m.sequence DESC LIMIT ?';
const page = 'm.id, CAST(m.doc AS BLOB) AS doc';

/** Parameters: [first_id,] conversation_id, app_id[, user], count. One row with a null id is an empty page. */
export const findPage = {
  latest: conversation(
    `c.version, 1 AS first_message_exists, ${page}`,
    'LEFT JOIN messages m ON m.conversation_id = c.conversation_id',
    newestFirst,
  ),
  before: conversation(
    `c.version, f.id IS NOT NULL AS first_message_exists, ${page}`,
    `${joinFirst}
     LEFT JOIN messages m ON m.conversation_id = c.conversation_id
       AND (m.created_at, m.sequence) < (+f.created_at, +f.sequence)`,
    newestFirst,
  ),
};

export const findKey = `
  SELECT k.id, k.kind, k.workspace_id, k.app_id, k.dataset_ids, k.expires_at, k.revoked_at, a.mode
  FROM api_keys k LEFT JOIN apps a ON a.id = k.app_id
  WHERE k.digest = ?`;

export const listKeys = `
  SELECT id, kind, name, workspace_id, app_id, dataset_ids, created_at, expires_at, revoked_at
  FROM api_keys ORDER BY created_at, id`;

export const findModelEntries = `
  SELECT entry FROM model_entries WHERE workspace_id = ? AND model_type = ? ORDER BY position`;

/** Parameters: document_id, segment_id, child_chunk_id, dataset_id, workspace_id. */
export const findChildChunk = `
  SELECT o.id AS found_document, s.id AS found_segment, c.id, c.segment_id, c.content, c.position, c.word_count,
    c.type, c.created_at, c.updated_at, c.version
  FROM datasets d
  LEFT JOIN documents o ON o.dataset_id = d.id AND o.id = ?
  LEFT JOIN segments s ON s.dataset_id = d.id AND s.id = ? AND s.document_id = o.id
  LEFT JOIN child_chunks c ON c.dataset_id = d.id AND c.id = ? AND c.segment_id = s.id
  WHERE d.id = ? AND d.workspace_id = ?`;

/** Keeps the text that stands as the next revision. Parameters: replaced_at, key_id, dataset_id, id. */
export const keepRevision = `
  INSERT INTO child_chunk_revisions (dataset_id, child_chunk_id, revision, content, replaced_at, key_id)
  SELECT c.dataset_id, c.id, 1 + COALESCE((
      SELECT MAX(r.revision) FROM child_chunk_revisions r WHERE r.dataset_id = c.dataset_id AND r.child_chunk_id = c.id
    ), 0), c.content, ?, ?
  FROM child_chunks c WHERE c.dataset_id = ? AND c.id = ?`;

/** Parameters: content, word_count, updated_at, version, dataset_id, id. */
export const replaceChildChunk = `
  UPDATE child_chunks SET content = ?, word_count = ?, type = 'customized', updated_at = ?, version = ?
  WHERE dataset_id = ? AND id = ?`;

/** An upsert that does nothing where the stored row has another parent. */
function upsert(table: string, key: string, columns: readonly string[], parent?: string): string {
  const all = [...key.split(', '), ...columns];
  const marks = all.map(() => '?').join(', ');
  const sets = columns.map((column) => `${column} = excluded.${column}`).join(', ');
  const guard = parent === undefined ? '' : ` WHERE ${table}.${parent} = excluded.${parent}`;
  return `INSERT INTO ${table} (${all.join(', ')}) VALUES (${marks}) ON CONFLICT (${key}) DO UPDATE SET ${sets}${guard}`;
}

export const write = {
  workspace: upsert('workspaces', 'id', ['name']),
  app: upsert('apps', 'id', ['workspace_id', 'name', 'mode'], 'workspace_id'),
  dataset: upsert('datasets', 'id', ['workspace_id', 'name'], 'workspace_id'),
  document: upsert('documents', 'dataset_id, id', ['name']),
  segment: upsert('segments', 'dataset_id, id', ['document_id', 'position', 'content'], 'document_id'),
  child_chunk: upsert(
    'child_chunks',
    'dataset_id, id',
    ['segment_id', 'content', 'position', 'word_count', 'type', 'created_at', 'updated_at', 'version'],
    'segment_id',
  ),
  child_chunk_revision: upsert('child_chunk_revisions', 'dataset_id, child_chunk_id, revision', [
    'content',
    'replaced_at',
    'key_id',
  ]),
  api_key: upsert('api_keys', 'id', [
    'kind',
    'workspace_id',
    'app_id',
    'dataset_ids',
    'name',
    'digest',
    'created_at',
    'expires_at',
    'revoked_at',
  ]),
  /** Parameters end with the version and the first sequence of a new conversation. */
  conversation: `
    INSERT INTO conversations (conversation_id, app_id, "user", created_at, deleted, version, next_sequence)
    VALUES (?, ?, ?, ?, ?, ?, 1)
    ON CONFLICT (conversation_id) DO UPDATE SET "user" = excluded."user", created_at = excluded.created_at,
      deleted = excluded.deleted, version = excluded.version
    WHERE conversations.app_id = excluded.app_id`,
  message: 'INSERT INTO messages (conversation_id, created_at, sequence, id, doc) VALUES (?, ?, ?, ?, ?)',
  model_provider: upsert('model_providers', 'workspace_id, provider', ['position', 'doc']),
  model_entry: 'INSERT INTO model_entries (workspace_id, model_type, position, entry) VALUES (?, ?, ?, ?)',
};

export const findMessage = 'SELECT created_at, sequence FROM messages WHERE conversation_id = ? AND id = ?';
/** Parameters: created_at, doc, conversation_id, stored created_at, sequence. */
export const replaceMessage = `
  UPDATE messages SET created_at = ?, doc = ? WHERE conversation_id = ? AND created_at = ? AND sequence = ?`;
export const findSequence = 'SELECT next_sequence FROM conversations WHERE conversation_id = ?';
export const advanceConversation = `
  UPDATE conversations SET next_sequence = ?, version = ? WHERE conversation_id = ?`;

export const findProviderPosition = 'SELECT position FROM model_providers WHERE workspace_id = ? AND provider = ?';
export const findLastPosition = 'SELECT MAX(position) AS position FROM model_providers WHERE workspace_id = ?';
export const clearModelEntries = 'DELETE FROM model_entries WHERE workspace_id = ? AND position = ?';

export const findDatasetOf = {
  document: 'SELECT dataset_id FROM documents WHERE id = ?',
  segment: 'SELECT dataset_id FROM segments WHERE id = ?',
  child_chunk: 'SELECT dataset_id FROM child_chunks WHERE id = ?',
};
export const findChunkText = 'SELECT content FROM child_chunks WHERE dataset_id = ? AND id = ?';
export const findKeyOfDigest = 'SELECT id FROM api_keys WHERE digest = ?';
export const revokeKey = 'UPDATE api_keys SET revoked_at = COALESCE(revoked_at, ?) WHERE id = ?';

const inPurge = {
  conversation: 'conversation_id = ?',
  user: 'app_id = ? AND "user" = ?',
};
const chosen = (by: keyof typeof inPurge) => `SELECT conversation_id FROM conversations WHERE ${inPurge[by]}`;

/** By one conversation (its id) or one person (app_id, user). */
export const purge = {
  countConversations: (by: keyof typeof inPurge) => `SELECT COUNT(*) AS n FROM conversations WHERE ${inPurge[by]}`,
  countMessages: (by: keyof typeof inPurge) =>
    `SELECT COUNT(*) AS n FROM messages WHERE conversation_id IN (${chosen(by)})`,
  messages: (by: keyof typeof inPurge) => `DELETE FROM messages WHERE conversation_id IN (${chosen(by)})`,
  conversations: (by: keyof typeof inPurge) => `DELETE FROM conversations WHERE ${inPurge[by]}`,
};

/** What the rules about references ask: id, the parent's id, and the dataset or app above. */
export const findKnown: Record<Referable, string> = {
  workspace: 'SELECT id, NULL AS parent, NULL AS scope FROM workspaces WHERE id = ?',
  app: 'SELECT id, workspace_id AS parent, NULL AS scope FROM apps WHERE id = ?',
  dataset: 'SELECT id, workspace_id AS parent, NULL AS scope FROM datasets WHERE id = ?',
  document: 'SELECT id, dataset_id AS parent, dataset_id AS scope FROM documents WHERE id = ?',
  segment: 'SELECT id, document_id AS parent, dataset_id AS scope FROM segments WHERE id = ?',
  child_chunk: 'SELECT id, segment_id AS parent, dataset_id AS scope FROM child_chunks WHERE id = ?',
  conversation:
    'SELECT conversation_id AS id, app_id AS parent, NULL AS scope FROM conversations WHERE conversation_id = ?',
  api_key: 'SELECT id, workspace_id AS parent, app_id AS scope FROM api_keys WHERE id = ?',
  digest: 'SELECT digest AS id, id AS parent, NULL AS scope FROM api_keys WHERE digest = ?',
};

export const findAnything = `
  SELECT 1 FROM workspaces UNION ALL SELECT 1 FROM api_keys LIMIT 1`;

export function purgeBy(selection: Purge): [keyof typeof inPurge, string[]] {
  if ('conversation_id' in selection) return ['conversation', [selection.conversation_id]];
  return ['user', [selection.app_id, selection.user]];
}
