import type { StoredKey } from '../domain/store/keys.ts';
import type { Statement } from './base/statement.ts';
import { type KeyRow, selectKeys } from './console/admin-statements.ts';

/** SQL outside of `sqlite/` and `postgres/` is in the subset that both engines understand. Parameters are positional. */

/**
 * Finds only valid keys. If expired and revoked keys were read and then rejected, they would take longer than unknown keys,
 * and a client could measure the difference. Parameters: digest, now.
 */
export const findKey: Statement<
  Omit<StoredKey, 'app' | 'dataset_ids' | 'read_only'> &
    Pick<KeyRow, 'app_id' | 'dataset_ids' | 'read_only'> & { mode: string | null }
> = `
  SELECT k.id, k.kind, k.workspace_id, k.app_id, k.dataset_ids, k.expires_at, k.read_only, k.role, a.mode
  FROM api_keys k LEFT JOIN apps a ON a.id = k.app_id
  WHERE k.digest = ? AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > ?)`;

export const findEndedKey = `
  SELECT 1 FROM api_keys WHERE digest = ? AND (revoked_at IS NOT NULL OR expires_at <= ?)`;

export const listKeys: Statement<KeyRow> = `${selectKeys} ORDER BY created_at, id`;

export const ping = 'SELECT COUNT(*) AS n FROM schema_migrations';

export const findAnyRecord = `
  SELECT 1 FROM workspaces UNION ALL SELECT 1 FROM api_keys LIMIT 1`;
