import type { KeyKind, Reach } from '../../contract/key-kinds.ts';
import type { Role } from '../../contract/people/roles.ts';
import type { App } from '../caller.ts';

/** The fields of an API key that decide what it allows. */
export type StoredKey = {
  id: string;
  kind: KeyKind;
  workspace_id: string | null;
  app: App | null;
  dataset_ids: readonly string[] | null;
  expires_at: number | null;
  read_only: boolean;
  /** Null unless it is an admin key. */
  role: Role | null;
};

export type KeyLookup = StoredKey | undefined | Promise<StoredKey | undefined>;

/** A new key: neither revoked nor used yet. */
export type NewStoredKey = Reach &
  Omit<StoredKey, 'app' | keyof Reach> & { name: string; digest: string; created_at: number };

/** A session of the console that was opened with an admin key. It ends at the latest when its admin key expires or is revoked. */
export type Session = {
  /** Digest of the secret in the cookie. The secret itself is not stored. */
  digest: string;
  key_id: string;
  /** A session ends when its key gets another secret. */
  key_digest: string;
  created_at: number;
  expires_at: number;
};

/** A person as the provider describes them now. */
export type IdentifiedPerson = {
  id: string;
  issuer: string;
  subject: string;
  name: string;
  email: string | null;
  role: Role;
  role_source: string | null;
};

/** What a provider says has ended: a session there, or all sessions of a person. `jti` is accepted once, until `expires_at`. */
export type Logout = {
  issuer: string;
  subject: string | undefined;
  sid: string | undefined;
  jti: string;
  expires_at: number;
};

/**
 * `name`, `read_only` and `role` are those of the key, or of the person; `expires_at` is the time at which the session or the key
 * expires, whichever is earlier.
 */
export type StoredSession = {
  name: string;
  expires_at: number;
  read_only: boolean;
  role: Role;
} & ({ key_id: string; person_id: null; issuer: null } | { key_id: null; person_id: string; issuer: string });
