import { limits } from '../../contract/limits.ts';
import type { CallerOf } from '../caller.ts';
import { digestOf, makeSessionSecret, makeSignInToken } from '../secret.ts';
import type { StoredSession } from '../store/session.ts';
import type { Store } from '../store/store.ts';

/** Creates a session for the key with this digest; undefined if the key was revoked or has expired in the meantime. */
export async function openSession(
  { sessions }: Store,
  { key_id }: CallerOf<'admin'>,
  key_digest: string,
  now: number,
): Promise<{ secret: string; session: StoredSession } | undefined> {
  const secret = makeSessionSecret();
  const digest = digestOf(secret);
  await sessions.open({ digest, key_id, key_digest, created_at: now, expires_at: now + limits.sessionSeconds });
  const session = await sessions.find(digest, now);
  return session && { secret, session };
}

/** The token of a sign-in link for the key. Only its digest is stored. */
export async function createSignInToken(
  { sessions }: Store,
  key: { key_id: string; key_digest: string },
  now: number,
): Promise<string> {
  const token = makeSignInToken();
  const times = { created_at: now, expires_at: now + limits.signInLinkSeconds };
  await sessions.open({ digest: tokenDigest(token), ...key, ...times });
  return token;
}

/** Exchanges the token of a sign-in link for a session; undefined if it was used, has expired, or its key is not valid. */
export async function exchangeSignInToken(
  { sessions }: Store,
  token: string,
  now: number,
): Promise<{ secret: string; session: StoredSession } | undefined> {
  const secret = makeSessionSecret();
  const digest = digestOf(secret);
  // One statement: of two requests with one token, only one gets a session.
  const times = { created_at: now, expires_at: now + limits.sessionSeconds };
  await sessions.exchange(tokenDigest(token), { digest, ...times });
  const session = await sessions.find(digest, now);
  return session && { secret, session };
}

/** The colon is not allowed in the cookie, so a token is not the secret of a session. */
const tokenDigest = (token: string): string => digestOf(`link:${token}`);
