import type { Caller } from './caller.ts';
import { digestOf } from './secret.ts';
import type { Store } from './store.ts';

/** The caller a secret stands for; undefined for an unknown, expired or revoked one. */
export async function findCaller(store: Store, secret: string, now: number): Promise<Caller | undefined> {
  const key = await store.findKey(digestOf(secret));
  if (key === undefined || key.revoked_at !== null) return undefined;
  if (key.expires_at !== null && key.expires_at <= now) return undefined;
  const { id: key_id, kind, workspace_id, app, dataset_ids } = key;
  if (kind === 'admin') return { kind, key_id };
  if (workspace_id === null) return undefined;
  if (kind === 'knowledge') return { kind, key_id, workspace_id, dataset_ids };
  return app === null ? undefined : { kind, key_id, workspace_id, app };
}
