/** A session of the console. It is valid as long as its admin key. */
export type Session = {
  /** Digest of the secret in the cookie. The secret itself is not stored. */
  digest: string;
  key_id: string;
  /** A session ends when its key gets another secret. */
  key_digest: string;
  created_at: number;
  expires_at: number;
};

/** `name` is the key's name; `expires_at` is the earlier end of session and key. */
export type StoredSession = { key_id: string; name: string; expires_at: number };

/** Sessions in the database, for all instances. They are not cached: a session that ends is rejected at once. */
export interface Sessions {
  /** A session that has not ended, of an admin key that is neither revoked nor expired. */
  find(digest: string, now: number): Promise<StoredSession | undefined>;
  open(session: Session): Promise<void>;
  end(digest: string): Promise<void>;
  /** Deletes expired sessions. */
  trim(now: number): Promise<void>;
}
