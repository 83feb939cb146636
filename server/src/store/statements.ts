import type { ChildChunk } from '../contract/child-chunk.ts';
import { countWords } from '../domain/records/count-words.ts';
import type { Prepared } from '../domain/records/prepared-record.ts';
import type { ChunkLocation, FoundChunkPath, NewChildChunk, PurgeSelection } from '../domain/store/store.ts';
import { selectKeys, sorted } from './console/admin-statements.ts';
import type { Row, Value } from './engine.ts';

/** The SQL of the service, in the subset that both engines understand. Parameters are positional. */

/**
 * Finds only valid keys. If expired and revoked keys were read and then rejected, they would take longer than unknown keys,
 * and a client could measure the difference. Parameters: digest, now.
 */
export const findKey = `
  SELECT k.id, k.kind, k.workspace_id, k.app_id, k.dataset_ids, k.expires_at, k.read_only, a.mode
  FROM api_keys k LEFT JOIN apps a ON a.id = k.app_id
  WHERE k.digest = ? AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > ?)`;

export const listKeys = `${selectKeys} ORDER BY created_at, id`;

export const findModelEntries = `
  SELECT entry FROM model_entries WHERE workspace_id = ? AND model_type = ? ORDER BY position`;

/**
 * Each part of the path is looked up separately, by its dataset and its parent's id. The path exists if all parts do.
 * `childChunkValues` returns the parameters.
 */
export const findChildChunk = `
  SELECT o.id AS found_document, s.id AS found_segment, c.id, c.segment_id, c.content, c.position, c.word_count,
    c.type, c.created_at, c.updated_at, c.version
  FROM datasets d
  LEFT JOIN documents o ON o.dataset_id = ? AND o.id = ?
  LEFT JOIN segments s ON s.dataset_id = ? AND s.id = ? AND s.document_id = ?
  LEFT JOIN child_chunks c ON c.dataset_id = ? AND c.id = ? AND c.segment_id = ? AND c.deleted = 0
  WHERE d.id = ? AND d.workspace_id = ?`;

export function childChunkValues(location: ChunkLocation): string[] {
  const { dataset_id, document_id, segment_id, child_chunk_id, workspace_id } = location;
  const document = [dataset_id, document_id];
  const segment = [dataset_id, segment_id, document_id];
  const chunk = [dataset_id, child_chunk_id, segment_id];
  return [...document, ...segment, ...chunk, dataset_id, workspace_id];
}

export function childChunkOf([row]: readonly Row[]): FoundChunkPath {
  if (row === undefined) return { dataset: false, document: false, segment: false, child_chunk: undefined };
  const { id, segment_id, content, position, word_count, type, created_at, updated_at } = row as ChildChunk;
  // In the order of the API specification.
  const chunk = { id, segment_id, content, position, word_count, type, created_at, updated_at };
  return {
    dataset: true,
    document: row.found_document !== null,
    segment: row.found_segment !== null,
    child_chunk: id === null ? undefined : { chunk, version: row.version as string },
  };
}

/** Parameters: dataset_id, segment_id. */
export const findLastChunk = `
  SELECT MAX(position) AS position FROM child_chunks WHERE dataset_id = ? AND segment_id = ? AND deleted = 0`;

/** Parameters: see `newChunkValues`. */
export const addChildChunk = `
  INSERT INTO child_chunks
    (dataset_id, id, segment_id, content, position, word_count, type, created_at, updated_at, version)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;

/** A new chunk after the last one of its segment. */
export function chunkAfter(
  last: Row | undefined,
  { child_chunk_id: id, segment_id, content, now }: NewChildChunk,
): ChildChunk {
  const position = Math.min(Number(last?.position ?? 0) + 1, Number.MAX_SAFE_INTEGER);
  const word_count = countWords(content);
  return { id, segment_id, content, position, word_count, type: 'customized', created_at: now, updated_at: now };
}

export function newChunkValues(chunk: ChildChunk, { dataset_id, version }: NewChildChunk): Value[] {
  const { id, segment_id, content, position, word_count, type, created_at, updated_at } = chunk;
  return [dataset_id, id, segment_id, content, position, word_count, type, created_at, updated_at, version];
}

/** Parameters: new version, dataset_id, id, stored version. */
export const deleteChildChunk = `
  UPDATE child_chunks SET deleted = 1, version = ? WHERE dataset_id = ? AND id = ? AND version = ? AND deleted = 0`;

export const writeProvider = `
  INSERT INTO model_providers (workspace_id, provider, position, doc) VALUES (?, ?, ?, ?)
  ON CONFLICT (workspace_id, provider) DO UPDATE SET doc = excluded.doc`;
export const writeModelEntry = `
  INSERT INTO model_entries (workspace_id, model_type, position, entry) VALUES (?, ?, ?, ?)`;
export const findProviderPosition = 'SELECT position FROM model_providers WHERE workspace_id = ? AND provider = ?';
export const findLastPosition = 'SELECT MAX(position) AS position FROM model_providers WHERE workspace_id = ?';
export const clearModelEntries = 'DELETE FROM model_entries WHERE workspace_id = ? AND position = ?';

export const findChunkText = 'SELECT content FROM child_chunks WHERE dataset_id = ? AND id = ?';
/** Parameters: read_only, id. */
export const updateKey = 'UPDATE api_keys SET read_only = ? WHERE id = ?';
export const revokeKey = 'UPDATE api_keys SET revoked_at = COALESCE(revoked_at, ?) WHERE id = ?';

/** Parameters: conversation_id. */
export const findDeleted = 'SELECT 1 FROM conversations WHERE conversation_id = ? AND deleted = 1';
export const findMessageIds = 'SELECT id FROM messages WHERE conversation_id = ?';

/** Renumbers a revision that this import has added. Parameters: see `moveRevisionValues`. */
export const moveRevision = `
  UPDATE child_chunk_revisions SET revision = 1 + (
    SELECT MAX(r.revision) FROM child_chunk_revisions r WHERE r.dataset_id = ? AND r.child_chunk_id = ?
  )
  WHERE dataset_id = ? AND child_chunk_id = ? AND revision = ? AND key_id IS NULL AND replaced_at = ? AND content <> ?`;

export function moveRevisionValues(record: Prepared<'child_chunk_revision'>): (string | number)[] {
  const { dataset_id, child_chunk_id, revision, imported_at, content } = record;
  return [dataset_id, child_chunk_id, dataset_id, child_chunk_id, revision, imported_at, content];
}

type PurgeBy = 'conversation' | 'user';
const purgeConditions: Record<PurgeBy, string> = {
  conversation: 'conversation_id = ?',
  // In the form that the index `conversations_by_user` supports: by the beginning of the name, deleted or not.
  user: `app_id = ? AND deleted IN (0, 1) AND ${sorted('"user"')} = ${sorted('CAST(? AS TEXT)')} AND "user" = ?`,
};
const selectedIds = (by: PurgeBy) => `SELECT conversation_id FROM conversations WHERE ${purgeConditions[by]}`;

/** Purges one conversation (parameter: id) or all of one user (parameters: app_id, user twice): see `purgeBy`. */
export const purge = {
  countConversations: (by: PurgeBy) => `SELECT COUNT(*) AS n FROM conversations WHERE ${purgeConditions[by]}`,
  countMessages: (by: PurgeBy) => `SELECT COUNT(*) AS n FROM messages WHERE conversation_id IN (${selectedIds(by)})`,
  messages: (by: PurgeBy) => `DELETE FROM messages WHERE conversation_id IN (${selectedIds(by)})`,
  days: (by: PurgeBy) => `DELETE FROM conversation_days WHERE conversation_id IN (${selectedIds(by)})`,
  selectedIds,
  selected: (by: PurgeBy) => `SELECT conversation_id, app_id FROM conversations WHERE ${purgeConditions[by]}`,
  conversations: (by: PurgeBy) => `DELETE FROM conversations WHERE ${purgeConditions[by]}`,
};

export function purgeBy(selection: PurgeSelection): [PurgeBy, string[]] {
  if ('conversation_id' in selection) return ['conversation', [selection.conversation_id]];
  return ['user', [selection.app_id, selection.user, selection.user]];
}

export const ping = 'SELECT COUNT(*) AS n FROM schema_migrations';

export const findAnyRecord = `
  SELECT 1 FROM workspaces UNION ALL SELECT 1 FROM api_keys LIMIT 1`;
