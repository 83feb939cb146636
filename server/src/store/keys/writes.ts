import { splitAuthor } from '../../domain/author.ts';
import type { AuditEntry } from '../../domain/store/audit.ts';
import type { NewStoredKey } from '../../domain/store/keys.ts';
import { newEntryId } from '../accounting/entry-id.ts';
import type { WriteInput } from '../base/engine.ts';
import { begin, execute, type RowStatements, type Write, writeRows } from '../base/statement.ts';
import { changed } from '../changes/changed.ts';
import { upsertOf } from '../tables/upserts.ts';
import { setLastSeen } from './person-writes.ts';

/** What is null stays as it is. Parameters: name, read_only, role, id. */
const setAccess = `
  UPDATE api_keys SET name = COALESCE(?, name), read_only = COALESCE(?, read_only), role = COALESCE(?, role) WHERE id = ?`;
/** An earlier end stays. Parameters: time, time, id. */
const setEnd = 'UPDATE api_keys SET expires_at = CASE WHEN expires_at < ? THEN expires_at ELSE ? END WHERE id = ?';
/** Parameters: time, id. */
export const setRevoked = 'UPDATE api_keys SET revoked_at = COALESCE(revoked_at, ?) WHERE id = ?';

/** An older time never replaces a newer one. Columns: time, id. */
export const setLastUse: RowStatements = {
  one: 'UPDATE api_keys SET last_used_at = MAX(COALESCE(last_used_at, 0), ?) WHERE id = ?',
  many: `
    UPDATE api_keys SET last_used_at = u.at FROM unnest($1::bigint[], $2::text[]) AS u (at, id)
    WHERE api_keys.id = u.id AND (api_keys.last_used_at IS NULL OR api_keys.last_used_at < u.at)`,
  isUndistributed: true,
};

export function* createKey({ key, createdBy }: WriteInput<'createKey'>): Write<undefined> {
  yield* begin();
  yield* insertKey(key, createdBy);
  return undefined;
}

function* insertKey(key: NewStoredKey, by: string | null): Write<void> {
  const { one, values } = upsertOf('api_key');
  yield* execute(one, ...values({ ...key, revoked_at: null }));
  yield* keyChanged('create', key.id, by, key.created_at);
}

export function* rotateKey({ key, id, ends_at, by }: WriteInput<'rotateKey'>): Write<undefined> {
  yield* begin();
  yield* execute(setEnd, ends_at, ends_at, id);
  yield* keyChanged('update', id, by, key.created_at);
  yield* insertKey(key, by);
  return undefined;
}

export function* revokeKey({ id, by, now }: WriteInput<'revokeKey'>): Write<boolean> {
  yield* begin();
  if ((yield* execute(setRevoked, now, id)) === 0) return false;
  yield* keyChanged('revoke', id, by, now);
  return true;
}

export function* updateKey({ id, change, by, now }: WriteInput<'updateKey'>): Write<boolean> {
  yield* begin();
  const { name = null, read_only, role = null } = change;
  const flag = read_only === undefined ? null : read_only ? 1 : 0;
  if ((yield* execute(setAccess, name, flag, role, id)) === 0) return false;
  yield* keyChanged('update', id, by, now);
  return true;
}

/** In the order of ids, so that two instances never deadlock. */
export function* noteKeyUse(uses: WriteInput<'noteKeyUse'>): Write<undefined> {
  const sorted = uses.toSorted(([one], [other]) => (one < other ? -1 : 1));
  const authors = sorted.map(([author, at]) => ({ ...splitAuthor(author), at }));
  yield* writeRows(
    setLastUse,
    authors.flatMap(({ key_id, at }) => (key_id === null ? [] : [[at, key_id]])),
  );
  yield* writeRows(
    setLastSeen,
    authors.flatMap(({ person_id, at }) => (person_id === null ? [] : [[at, person_id]])),
  );
  return undefined;
}

function keyChanged(action: 'create' | 'update' | 'revoke', id: string, by: string | null, at: number): Write<void> {
  const entry: AuditEntry = { id: newEntryId(), at, key_id: by, action, record: 'api_key', count: 1, ids: [id] };
  return changed({ audit: [entry], outbox: [], at });
}
