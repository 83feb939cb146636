/** A session of the console. It ends at the latest when its admin key expires or is revoked. */
export type Session = {
  /** Digest of the secret in the cookie. The secret itself is not stored. */
  digest: string;
  key_id: string;
  /** A session ends when its key gets another secret. */
  key_digest: string;
  created_at: number;
  expires_at: number;
};

/**
 * `name` and `read_only` are the key's; `expires_at` is the time at which the session or the key expires, whichever is
 * earlier.
 */
export type StoredSession = { key_id: string; name: string; expires_at: number; read_only: boolean };

/** Sessions in the database, for all instances. They are not cached: a session that has ended is rejected immediately. */
export interface Sessions {
  /** A session that has not ended, of an admin key that is neither revoked nor expired. */
  find(digest: string, now: number): Promise<StoredSession | undefined>;
  open(session: Session): Promise<void>;
  /** Replaces a session that has not expired by another one of its key. Nothing happens if there is none. */
  exchange(digest: string, session: Omit<Session, 'key_id' | 'key_digest'>): Promise<void>;
  end(digest: string): Promise<void>;
  /** Deletes expired sessions. */
  trim(now: number): Promise<void>;
}
