import type { StoredSession } from '../../domain/store/session.ts';
import type { SessionChange } from '../base/engine.ts';
import { type Bound, execute, type Statement, type Write } from '../base/statement.ts';

/** The SQL about sessions, which both engines share. */

/** Parameters: digest, now, now. */
export const findSession: Statement<
  Omit<StoredSession, 'read_only'> & { key_expires_at: number | null; read_only: number }
> = `
  SELECT s.key_id, k.name, s.expires_at, k.expires_at AS key_expires_at, k.read_only
  FROM console_sessions s JOIN api_keys k ON k.id = s.key_id
  WHERE s.digest = ? AND s.expires_at > ? AND k.digest = s.key_digest AND k.kind = 'admin'
    AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > ?)`;

export const openSession = `
  INSERT INTO console_sessions (digest, key_id, key_digest, created_at, expires_at) VALUES (?, ?, ?, ?, ?)`;
/** Parameters: new digest, created_at, expires_at, old digest, now. */
export const exchangeSession = `
  UPDATE console_sessions SET digest = ?, created_at = ?, expires_at = ? WHERE digest = ? AND expires_at > ?`;
export const endSession = 'DELETE FROM console_sessions WHERE digest = ?';
/** Parameters: now. */
export const trimSessions = 'DELETE FROM console_sessions WHERE expires_at <= ?';

/** The statement and its parameters. */
export function sessionStatement(change: SessionChange): Bound {
  if ('end' in change) return [endSession, change.end];
  if ('trim' in change) return [trimSessions, change.trim];
  if ('exchange' in change) {
    const { digest, created_at, expires_at } = change.session;
    return [exchangeSession, digest, created_at, expires_at, change.exchange, created_at];
  }
  const { digest, key_id, key_digest, created_at, expires_at } = change.open;
  return [openSession, digest, key_id, key_digest, created_at, expires_at];
}

export function* changeSession(change: SessionChange): Write<undefined> {
  yield* execute(...sessionStatement(change));
  return undefined;
}
