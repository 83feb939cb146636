import { limits } from '../../contract/limits.ts';
import type { CallerOf } from '../caller.ts';
import { digestOf, makeSessionSecret, makeSignInToken } from '../secret.ts';
import type { StoredSession } from '../store/keys.ts';
import type { Store } from '../store/store.ts';

/** Creates a session for the key with this digest; undefined if the key was revoked or has expired in the meantime. */
export async function openSession(
  store: Store,
  { key_id }: CallerOf<'admin'>,
  key_digest: string,
  now: number,
): Promise<{ secret: string; session: StoredSession } | undefined> {
  const secret = makeSessionSecret();
  const digest = digestOf(secret);
  const times = { created_at: now, expires_at: now + limits.sessionSeconds };
  await store.run('openSession', { digest, key_id, key_digest, ...times });
  const session = await store.sessions.find(digest, now);
  return session && { secret, session };
}

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

/** Exchanges the token of a sign-in link for a session; undefined if it was used, has expired, or its key is not valid. */
export async function exchangeSignInToken(
  store: Store,
  token: string,
  now: number,
): Promise<{ secret: string; session: StoredSession } | undefined> {
  const secret = makeSessionSecret();
  const digest = digestOf(secret);
  // One statement: of two requests with one token, only one gets a session.
  const times = { created_at: now, expires_at: now + limits.sessionSeconds };
  await store.run('exchangeSession', { digest: tokenDigest(token), session: { digest, ...times } });
  const session = await store.sessions.find(digest, now);
  return session && { secret, session };
}

/** The colon is not allowed in the cookie, so a token is not the secret of a session. */
const tokenDigest = (token: string): string => digestOf(`link:${token}`);
