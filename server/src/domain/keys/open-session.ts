import { limits } from '../../contract/limits.ts';
import type { CallerOf } from '../caller.ts';
import { digestOf, makeSessionSecret, makeSignInToken } from '../secret.ts';
import type { StoredSession } from '../store/keys.ts';
import type { Store } from '../store/store.ts';

type Opened = { secret: string; session: StoredSession };
type NewSession = { digest: string; created_at: number; expires_at: number };

/** Creates a session for the key with this digest; undefined if the key was revoked or has expired in the meantime. */
export const openSession = (store: Store, { key_id }: CallerOf<'admin'>, key_digest: string, now: number) =>
  open(store, now, (session) => store.run('openSession', { ...session, key_id, key_digest }));

/** The token of a sign-in link for the key. Only its digest is stored. */
export async function createSignInToken(
  store: Store,
  key: { key_id: string; key_digest: string },
  now: number,
): Promise<string> {
  const token = makeSignInToken();
  const times = { created_at: now, expires_at: now + limits.signInLinkSeconds };
  await store.run('openSession', { digest: tokenDigest(token), ...key, ...times });
  return token;
}

/**
 * Exchanges the token of a sign-in link for a session; undefined if it was used, has expired, or its key is not valid. It is one
 * statement: of two requests with one token, only one gets a session.
 */
export const exchangeSignInToken = (store: Store, token: string, now: number) =>
  open(store, now, (session) => store.run('exchangeSession', { digest: tokenDigest(token), session }));

async function open(
  store: Store,
  now: number,
  write: (session: NewSession) => Promise<undefined>,
): Promise<Opened | undefined> {
  const secret = makeSessionSecret();
  const digest = digestOf(secret);
  await write({ digest, created_at: now, expires_at: now + limits.sessionSeconds });
  const session = await store.findSession(digest, now);
  return session && { secret, session };
}

/** The colon is not allowed in the cookie, so a token is not the secret of a session. */
const tokenDigest = (token: string): string => digestOf(`link:${token}`);
