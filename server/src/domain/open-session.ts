import { limits } from '../contract/limits.ts';
import type { CallerOf } from './caller.ts';
import { digestOf, makeSessionSecret } from './secret.ts';
import type { StoredSession } from './session.ts';
import type { Store } from './store.ts';

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
