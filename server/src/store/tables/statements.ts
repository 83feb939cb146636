import type { Prepared } from '../../domain/records/prepared-record.ts';
import type { Dialect } from '../base/engine.ts';
import { lockOf } from '../base/leases.ts';
import type { Statement, Value } from '../base/statement.ts';

/** The SQL that writes records, besides the upserts. */

export const writeProvider = `
  INSERT INTO model_providers (workspace_id, provider, position, doc) VALUES (?, ?, ?, ?)
  ON CONFLICT (workspace_id, provider) DO UPDATE SET doc = excluded.doc`;
export const writeModelEntry = `
  INSERT INTO model_entries (workspace_id, model_type, position, entry) VALUES (?, ?, ?, ?)`;
export const findProviderPosition: Statement<{ position: number }> =
  'SELECT position FROM model_providers WHERE workspace_id = ? AND provider = ?';
export const findLastPosition: Statement<{ position: number | null }> =
  'SELECT MAX(position) AS position FROM model_providers WHERE workspace_id = ?';
export const clearModelEntries = 'DELETE FROM model_entries WHERE workspace_id = ? AND position = ?';

/** Renumbers a revision that this import has added. Parameters: see `moveRevisionValues`. */
export const moveRevision = `
  UPDATE child_chunk_revisions SET revision = 1 + (
    SELECT MAX(r.revision) FROM child_chunk_revisions r WHERE r.dataset_id = ? AND r.child_chunk_id = ?
  )
  WHERE dataset_id = ? AND child_chunk_id = ? AND revision = ? AND key_id IS NULL AND person_id IS NULL AND replaced_at = ? AND content <> ?`;

export function moveRevisionValues(record: Prepared<'child_chunk_revision'>): Value[] {
  const { dataset_id, child_chunk_id, revision, imported_at, content } = record;
  return [dataset_id, child_chunk_id, dataset_id, child_chunk_id, revision, imported_at, content];
}

/** Stores the current texts as the next revisions. Parameters: dataset_id, replaced_at, dataset_id, ids. */
export const addRevisions = ({ isIn }: Dialect): string => `
  INSERT INTO child_chunk_revisions (dataset_id, child_chunk_id, revision, content, replaced_at, key_id)
  SELECT c.dataset_id, c.id, 1 + COALESCE((
      SELECT MAX(r.revision) FROM child_chunk_revisions r WHERE r.dataset_id = ? AND r.child_chunk_id = c.id
    ), 0), c.content, CAST(? AS BIGINT), NULL
  FROM child_chunks c WHERE c.dataset_id = ? AND ${isIn('c.id')}`;

/** The ids of the messages of a conversation, in pages. Parameters: conversation_id, time and sequence of the last one, count. */
export const findMessageIds: Statement<{ id: string; created_at: number; sequence: number }> = `
  SELECT id, created_at, sequence FROM messages
  WHERE conversation_id = ? AND (created_at, sequence) > (?, ?) ORDER BY created_at, sequence LIMIT ?`;

/** Parameters: conversation_id. */
export const findReviewIds: Statement<{ id: string }> =
  'SELECT message_id AS id FROM reviews WHERE conversation_id = ?';

/** Imports run one after another, across all instances. */
export const lockImports = lockOf('import');
