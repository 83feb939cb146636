import type { Caller } from './caller.ts';
import type { Store, StoredKey } from './store.ts';

/** Somebody who may ask, and the moment from which on they may not, in seconds. */
export type AuthenticatedCaller = { caller: Caller; until: number };

/** The caller that the secret of this digest stands for; undefined for an unknown, expired or revoked one. */
export async function authenticate(
  store: Store,
  digest: string,
  now: number,
): Promise<AuthenticatedCaller | undefined> {
  const key = await store.findKey(digest, now);
  if (key === undefined) return undefined;
  // What the store remembers may have expired since.
  const until = key.expires_at ?? Number.POSITIVE_INFINITY;
  const caller = until <= now ? undefined : callerOf(key);
  return caller && { caller, until };
}

function callerOf({ id: key_id, kind, workspace_id, app, dataset_ids }: StoredKey): Caller | undefined {
  if (kind === 'admin') return { kind, key_id };
  if (workspace_id === null) return undefined;
  if (kind === 'knowledge') return { kind, key_id, workspace_id, dataset_ids };
  return app === null ? undefined : { kind, key_id, workspace_id, app };
}
