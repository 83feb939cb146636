import { createHash, randomBytes } from 'node:crypto';
import { limits } from '../contract/limits.ts';
import type { KeyKind } from '../contract/record.ts';
import type { Store } from './store.ts';

/** Who asks, complete in each case. */
export type Caller =
  | { kind: 'app'; key_id: string; workspace_id: string; app: App }
  | { kind: 'writer'; key_id: string; workspace_id: string; app: App }
  | { kind: 'knowledge'; key_id: string; workspace_id: string; dataset_ids: readonly string[] | null }
  | { kind: 'admin'; key_id: string };

export type App = { id: string; mode: string };
export type CallerOf<K extends KeyKind> = Extract<Caller, { kind: K }>;

export const secretPrefix: Record<KeyKind, string> = {
  app: 'app-',
  knowledge: 'dataset-',
  writer: 'writer-',
  admin: 'admin-',
};

/** A new secret. It is shown where it is made and nowhere else; the service keeps its digest. */
export function makeSecret(kind: KeyKind): string {
  return secretPrefix[kind] + randomBytes(limits.secretRandomBytes).toString('base64url');
}

export function digestOf(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}

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
