import { splitAuthor } from '../../domain/author.ts';
import type { NewStoredKey } from '../../domain/store/keys.ts';
import { entryOf } from '../accounting/audit.ts';
import type { WriteInput } from '../base/engine.ts';
import { begin, execute, type RowStatements, type Write, writeRows } from '../base/statement.ts';
import { changed } from '../changes/changed.ts';
import { upsertOf } from '../tables/upserts.ts';

/** What is null stays as it is. Parameters: name, read_only, role, id. */
const setAccess = `
  UPDATE api_keys SET name = COALESCE(?, name), read_only = COALESCE(?, read_only), role = COALESCE(?, role) WHERE id = ?`;
/** An earlier end stays. Parameters: time, time, id. */
const setEnd = 'UPDATE api_keys SET expires_at = CASE WHEN expires_at < ? THEN expires_at ELSE ? END WHERE id = ?';
/** Parameters: time, id. */
export const setRevoked = 'UPDATE api_keys SET revoked_at = COALESCE(revoked_at, ?) WHERE id = ?';

/** An older time never replaces a newer one. Columns: time, id. */
const setLatest = (table: 'api_keys' | 'persons', column: string): RowStatements => ({
  table,
  one: `UPDATE ${table} SET ${column} = MAX(COALESCE(${column}, 0), ?) WHERE id = ?`,
  many: `
    UPDATE ${table} SET ${column} = u.at FROM unnest($1::bigint[], $2::text[]) AS u (at, id)
    WHERE ${table}.id = u.id AND (${table}.${column} IS NULL OR ${table}.${column} < u.at)`,
});
export const setLastUse = setLatest('api_keys', 'last_used_at');
const setLastSeen = setLatest('persons', 'last_seen_at');

export function* createKey({ key, createdBy }: WriteInput<'createKey'>): Write<undefined> {
  yield* begin();
  yield* insertKey(key, createdBy);
}

function* insertKey(key: NewStoredKey, by: string | null): Write<void> {
  const { one, values } = upsertOf('api_key');
  yield* execute(one, ...values({ ...key, revoked_at: null }));
  yield* accessChanged('api_key', 'create', key.id, by, key.created_at);
}

export function* rotateKey({ key, id, ends_at, by }: WriteInput<'rotateKey'>): Write<undefined> {
  yield* begin();
  yield* execute(setEnd, ends_at, ends_at, id);
  yield* accessChanged('api_key', 'update', id, by, key.created_at);
  yield* insertKey(key, by);
}

export function* revokeKey({ id, by, now }: WriteInput<'revokeKey'>): Write<boolean> {
  yield* begin();
  if ((yield* execute(setRevoked, now, id)) === 0) return false;
  yield* accessChanged('api_key', 'revoke', id, by, now);
  return true;
}

export function* updateKey({ id, change, by, now }: WriteInput<'updateKey'>): Write<boolean> {
  yield* begin();
  const { name = null, read_only, role = null } = change;
  const flag = read_only === undefined ? null : read_only ? 1 : 0;
  if ((yield* execute(setAccess, name, flag, role, id)) === 0) return false;
  yield* accessChanged('api_key', 'update', id, by, now);
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
}

/** The end of every write about keys and people, which are not in the change feed. */
export const accessChanged = (
  record: 'api_key' | 'person',
  action: 'create' | 'update' | 'revoke',
  id: string,
  by: string | null,
  now: number,
): Write<void> => changed({ audit: [entryOf(record, action, id, { key_id: by, now })], outbox: [], at: now });
