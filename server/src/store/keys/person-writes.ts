import { personId, personPrefix } from '../../domain/author.ts';
import { digestOf } from '../../domain/secret.ts';
import type { WriteInput } from '../base/engine.ts';
import { begin, execute, first, type Statement, type Write } from '../base/statement.ts';
import { accessChanged } from './writes.ts';

/** What is null stays as it is. Parameters: blocked, id. */
const setBlocked = 'UPDATE persons SET blocked = COALESCE(CAST(? AS BIGINT), blocked) WHERE id = ?';
const endSessions = 'DELETE FROM console_sessions WHERE person_id = ?';

const findStored: Statement<{ role: string; blocked: number }> = 'SELECT role, blocked FROM persons WHERE id = ?';

/** Parameters: id, issuer, subject, name, email, role, role_source, last_seen_at. */
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
/** Parameters: sid, issuer. */
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
  if (stored?.role !== role)
    yield* accessChanged('person', stored === undefined ? 'create' : 'update', id, `${personPrefix}${id}`, created_at);
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
  if ((yield* execute(setBlocked, blocked === undefined ? null : Number(blocked), id)) === 0) return false;
  if (blocked !== false) yield* execute(endSessions, id);
  yield* accessChanged('person', blocked === undefined ? 'revoke' : 'update', id, by, now);
  return true;
}
