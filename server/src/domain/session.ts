/** Somebody who is signed in to the console. It stands for an admin key as long as that opens something. */
export type Session = {
  /** Of the secret in the cookie, which is kept nowhere. */
  digest: string;
  key_id: string;
  /** A key that is given another secret ends its sessions. */
  key_digest: string;
  created_at: number;
  expires_at: number;
};

/** `name` is the key's; `expires_at` the earlier of the session's and the key's end. */
export type StoredSession = { key_id: string; name: string; expires_at: number };

/** Where sessions are kept, so that all instances know them. Nothing here is remembered: an end shows at once. */
export interface Sessions {
  /** A session that has not ended, of an admin key that is neither revoked nor expired. */
  find(digest: string, now: number): Promise<StoredSession | undefined>;
  open(session: Session): Promise<void>;
  end(digest: string): Promise<void>;
  /** Forgets those that have expired. */
  trim(now: number): Promise<void>;
}
