import type { FieldChange } from '../../contract/audit.ts';
import { personId, personPrefix, splitAuthor } from '../../domain/author.ts';
import { digestOf } from '../../domain/secret.ts';
import type { NewStoredKey } from '../../domain/store/keys.ts';
import { changesOf, entryOf } from '../accounting/audit.ts';
import type { Dialect, WriteContext, WriteInput } from '../base/engine.ts';
import { begin, execute, first, type RowStatements, type Statement, type Write, writeRows } from '../base/statement.ts';
import { changed } from '../changes/outbox.ts';
import { upsertOf } from '../tables/statements.ts';

/** What is null stays as it is. Parameters: name, read_only, role, id. */
const setAccess = `
  UPDATE api_keys SET name = COALESCE(?, name), read_only = COALESCE(?, read_only), role = COALESCE(?, role) WHERE id = ?`;
/** Parameters: id. */
const lockAccess = ({ lockRows }: Dialect): Statement<{ name: string; read_only: number; role: string | null }> =>
  lockRows('name, read_only, role', 'api_keys', 'id = ?', 'name');
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

export function* updateKey(
  { id, change, by, now }: WriteInput<'updateKey'>,
  { dialect }: WriteContext,
): Write<boolean> {
  yield* begin();
  const { name = null, read_only, role = null } = change;
  const flag = read_only === undefined ? null : read_only ? 1 : 0;
  const stored = yield* first(lockAccess(dialect), id);
  if (stored === undefined) return false;
  yield* execute(setAccess, name, flag, role, id);
  const changes = changesOf(stored, { name: change.name, role: change.role, read_only });
  yield* accessChanged('api_key', 'update', id, by, now, changes);
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
  changes?: readonly FieldChange[],
): Write<void> =>
  changed({ audit: [{ ...entryOf(record, action, id, { key_id: by, now }), changes }], outbox: [], at: now });

/** What is null stays as it is. Parameters: blocked, id. */
const setBlocked = 'UPDATE persons SET blocked = COALESCE(CAST(? AS BIGINT), blocked) WHERE id = ?';
const endSessions = 'DELETE FROM console_sessions WHERE person_id = ?';

const findStored: Statement<{ role: string; blocked: number }> = 'SELECT role, blocked FROM persons WHERE id = ?';

const writePerson = `
  INSERT INTO persons (id, issuer, subject, name, email, role, role_source, last_seen_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (id) DO UPDATE SET name = excluded.name, email = excluded.email, role = excluded.role,
    role_source = excluded.role_source, last_seen_at = excluded.last_seen_at`;
/** Also keeps the id of a logout token, as the digest of a session of no one. */
const writeSession = `
  INSERT INTO console_sessions (digest, person_id, sid, created_at, expires_at) VALUES (?, ?, ?, ?, ?)
  ON CONFLICT (digest) DO NOTHING`;
/** Parameters: person, sid or null, the same. */
const endSessionsOfPerson = `
  DELETE FROM console_sessions WHERE person_id = ? AND (CAST(? AS TEXT) IS NULL OR sid IS NULL OR sid = ?)`;
const endSessionsBySid = `
  DELETE FROM console_sessions WHERE sid = ? AND person_id IN (SELECT id FROM persons WHERE issuer = ?)`;

export function* signIn({ person, session }: WriteInput<'signIn'>): Write<boolean> {
  const { id, issuer, subject, name, email, role, role_source } = person;
  const { digest, sid, created_at, expires_at } = session;
  const stored = yield* first(findStored, id);
  if (stored?.blocked === 1) return false;
  yield* begin();
  yield* execute(writePerson, id, issuer, subject, name, email, role, role_source, created_at);
  yield* execute(writeSession, digest, id, sid, created_at, expires_at);
  if (stored?.role !== role) {
    const changes = stored && changesOf(stored, { role });
    const action = stored === undefined ? 'create' : 'update';
    yield* accessChanged('person', action, id, `${personPrefix}${id}`, created_at, changes);
  }
  return true;
}

/** A token may name a session, a person, or both; a session whose `sid` the provider never told counts as named. */
export function* endSessionsOf({ issuer, subject, sid, jti, expires_at }: WriteInput<'endSessionsOf'>): Write<boolean> {
  yield* begin();
  const used = digestOf(`logout:${issuer} ${jti}`);
  if ((yield* execute(writeSession, used, null, null, 0, expires_at)) === 0) return false;
  if (subject === undefined) yield* execute(endSessionsBySid, sid ?? '', issuer);
  else yield* execute(endSessionsOfPerson, personId({ issuer, subject }), sid ?? null, sid ?? null);
  return true;
}

export function* changePerson({ id, blocked, by, now }: WriteInput<'changePerson'>): Write<boolean> {
  yield* begin();
  const stored = yield* first(findStored, id);
  if ((yield* execute(setBlocked, blocked === undefined ? null : Number(blocked), id)) === 0) return false;
  if (blocked !== false) yield* execute(endSessions, id);
  const changes = stored && changesOf(stored, { blocked });
  yield* accessChanged('person', blocked === undefined ? 'revoke' : 'update', id, by, now, changes);
  return true;
}
