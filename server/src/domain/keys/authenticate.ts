import type { Caller } from '../caller.ts';
import type { StoredKey } from '../store/keys.ts';
import type { Store } from '../store/store.ts';

/**
 * The caller whose secret has this digest; undefined if there is no such key, or if it is expired or revoked. Not a promise
 * if the store has cached the key. `now` is in seconds; `dataVersion` was read from the store before this call.
 */
export function authenticate(
  store: Store,
  digest: string,
  now: number,
  dataVersion: number | undefined,
): Caller | undefined | Promise<Caller | undefined> {
  const lookup = store.findKey(digest, now, dataVersion);
  return lookup instanceof Promise ? lookup.then((key) => callerFromKey(key, now)) : callerFromKey(lookup, now);
}

function callerFromKey(key: StoredKey | undefined, now: number): Caller | undefined {
  if (key === undefined) return undefined;
  const { id: key_id, kind, read_only, role, workspace_id, app, dataset_ids, expires_at } = key;
  // A cached key may have expired since it was read.
  if (expires_at !== null && expires_at <= now) return undefined;
  if (kind === 'admin') return role === null ? undefined : { kind, key_id, read_only, role };
  if (workspace_id === null) return undefined;
  if (kind === 'knowledge') return { kind, key_id, read_only, workspace_id, dataset_ids };
  if (kind === 'feed') return { kind, key_id, read_only, workspace_id, dataset_ids, app_id: app?.id ?? null };
  return app === null ? undefined : { kind, key_id, read_only, workspace_id, app };
}
