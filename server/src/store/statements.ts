import type { PurgeSelection, StoredKey } from '../domain/store/store.ts';
import { type KeyRow, selectKeys, sorted } from './console/admin-statements.ts';
import type { Statement } from './statement.ts';

/** The SQL of the service, in the subset that both engines understand. Parameters are positional. */

/**
 * Finds only valid keys. If expired and revoked keys were read and then rejected, they would take longer than unknown keys,
 * and a client could measure the difference. Parameters: digest, now.
 */
export const findKey: Statement<
  Omit<StoredKey, 'app' | 'dataset_ids' | 'read_only'> &
    Pick<KeyRow, 'app_id' | 'dataset_ids' | 'read_only'> & { mode: string | null }
> = `
  SELECT k.id, k.kind, k.workspace_id, k.app_id, k.dataset_ids, k.expires_at, k.read_only, a.mode
  FROM api_keys k LEFT JOIN apps a ON a.id = k.app_id
  WHERE k.digest = ? AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > ?)`;

export const listKeys: Statement<KeyRow> = `${selectKeys} ORDER BY created_at, id`;

export const findModelEntries: Statement<{ entry: string }> = `
  SELECT entry FROM model_entries WHERE workspace_id = ? AND model_type = ? ORDER BY position`;

type PurgeBy = 'conversation' | 'user';
const purgeConditions: Record<PurgeBy, string> = {
  conversation: 'conversation_id = ?',
  // In the form that the index `conversations_by_user` supports: by the beginning of the name, deleted or not.
  user: `app_id = ? AND deleted IN (0, 1) AND ${sorted('"user"')} = ${sorted('CAST(? AS TEXT)')} AND "user" = ?`,
};

/** Purges one conversation (parameter: id) or all of one user (parameters: app_id, user twice): see `purgeBy`. */
export const countConversations = (by: PurgeBy): Statement<{ n: number }> =>
  `SELECT COUNT(*) AS n FROM conversations WHERE ${purgeConditions[by]}`;
export const countMessages = (by: PurgeBy): Statement<{ n: number }> => `
  SELECT COUNT(*) AS n FROM messages
  WHERE conversation_id IN (SELECT conversation_id FROM conversations WHERE ${purgeConditions[by]})`;
export const deleteConversations = (
  by: PurgeBy,
): Statement<{ conversation_id: string; app_id: string; counted: string | null }> =>
  `DELETE FROM conversations WHERE ${purgeConditions[by]} RETURNING conversation_id, app_id, counted`;

export function purgeBy(selection: PurgeSelection): [PurgeBy, string[]] {
  if ('conversation_id' in selection) return ['conversation', [selection.conversation_id]];
  return ['user', [selection.app_id, selection.user, selection.user]];
}

export const ping = 'SELECT COUNT(*) AS n FROM schema_migrations';

export const findAnyRecord = `
  SELECT 1 FROM workspaces UNION ALL SELECT 1 FROM api_keys LIMIT 1`;
