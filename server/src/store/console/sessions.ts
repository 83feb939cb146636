import type { Session, StoredSession } from '../../domain/store/keys.ts';
import { setValue } from '../base/copies.ts';
import type { WriteInput } from '../base/engine.ts';
import { execute, run, type Statement, type Write } from '../base/statement.ts';

type SessionRow = Pick<StoredSession, 'key_id' | 'person_id' | 'issuer' | 'name' | 'expires_at' | 'role'>;

/** Parameters: now, digest, now. */
export const findSession: Statement<SessionRow & { key_expires_at: number | null; read_only: number }> = `
  SELECT k.id AS key_id, p.id AS person_id, p.issuer, COALESCE(k.name, p.name) AS name, s.expires_at,
    k.expires_at AS key_expires_at, COALESCE(k.read_only, 0) AS read_only, COALESCE(k.role, p.role) AS role
  FROM console_sessions s
  LEFT JOIN api_keys k ON k.id = s.key_id AND k.digest = s.key_digest AND k.kind = 'admin'
    AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > ?)
  LEFT JOIN persons p ON p.id = s.person_id AND p.blocked = 0
  WHERE s.digest = ? AND s.expires_at > ? AND (k.id IS NOT NULL OR p.id IS NOT NULL)`;

export const insertSession = `
  INSERT INTO console_sessions (digest, key_id, key_digest, created_at, expires_at) VALUES (?, ?, ?, ?, ?)`;
/** Parameters: new digest, created_at, expires_at, old digest, now. */
const replaceSession = `
  UPDATE console_sessions SET digest = ?, created_at = ?, expires_at = ? WHERE digest = ? AND expires_at > ?`;
export const deleteSession = 'DELETE FROM console_sessions WHERE digest = ?';
const deleteAll = 'DELETE FROM console_sessions';
/** Parameters: now. */
const deleteExpired = 'DELETE FROM console_sessions WHERE expires_at <= ?';

export const sessionWrites = {
  openSession: ({ digest, key_id, key_digest, created_at, expires_at }: Session) =>
    run(insertSession, digest, key_id, key_digest, created_at, expires_at),
  exchangeSession: ({ digest, session }: WriteInput<'exchangeSession'>) =>
    run(replaceSession, session.digest, session.created_at, session.expires_at, digest, session.created_at),
  endSession: (digest: string) => run(deleteSession, digest),
  endSessions: () => run(deleteAll),
  trimSessions: (now: number) => run(deleteExpired, now),
};

/** Saved views are values of the installation with this beginning. */
export const viewPrefix = 'view ';

export function* saveView({ name, address }: WriteInput<'saveView'>): Write<undefined> {
  const stored = `${viewPrefix}${name}`;
  if (address === null) yield* execute('DELETE FROM service_values WHERE name = ?', stored);
  else yield* execute(setValue, stored, address);
  return undefined;
}
