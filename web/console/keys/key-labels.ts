import { appendLine, readLine } from '../../../server/src/contract/console/first-message.ts';
import type { KeyKind } from '../../../server/src/contract/key-kinds.ts';
import type { Key } from '../state/types.ts';

export const keyStates = ['active', 'expires soon', 'expired', 'revoked'] as const;
export type KeyState = (typeof keyStates)[number];

export function stateOf({ revoked_at, expires_at }: Key, now: number): KeyState {
  if (revoked_at !== null) return 'revoked';
  if (expires_at === null || expires_at > now + 7 * 86_400) return 'active';
  return expires_at <= now ? 'expired' : 'expires soon';
}

/** Keys of one second are in the order of their names. */
export function newestFirst(one: Key, other: Key): number {
  return other.created_at - one.created_at || one.name.localeCompare(other.name) || (one.id < other.id ? -1 : 1);
}

/** The records that a key is limited to, and the words before their names. */
export type Reach = { words: string; list: 'apps' | 'workspaces' | 'datasets'; ids: readonly string[] };

export function reachOf({ kind, app_id, workspace_id, dataset_ids }: Key): Reach {
  if (kind === 'admin') return { words: 'everything', list: 'workspaces', ids: [] };
  // The kind of the others says that it is an app.
  if (app_id !== null) return { words: kind === 'feed' ? 'app' : '', list: 'apps', ids: [app_id] };
  if (dataset_ids !== null)
    return { words: `dataset${dataset_ids.length === 1 ? '' : 's'}`, list: 'datasets', ids: dataset_ids };
  const words = kind === 'knowledge' ? 'all datasets of' : 'workspace';
  return { words, list: 'workspaces', ids: workspace_id === null ? [] : [workspace_id] };
}

/** The name of a key, or its kind and the beginning of its id. */
export function titleOf({ id, kind, name }: Pick<Key, 'id' | 'kind' | 'name'>): string {
  return name.trim() === '' ? `${kind} key ${id.slice(0, 8)}` : name;
}

/** A first request with a new key: for a conversation, if there is one. */
export function curlOf(kind: KeyKind, secret: string, origin: string, conversation_id?: string): string {
  if (kind === 'writer') return appendLine(origin, secret);
  if (conversation_id !== undefined) return readLine(origin, secret, conversation_id);
  const models = '/v1/workspaces/current/models/model-types/llm';
  const path = kind === 'admin' ? '/admin/keys' : kind === 'feed' ? '/admin/changes' : models;
  return `curl -sS -H 'Authorization: Bearer ${secret}' '${origin}${path}'`;
}

/** When a key can expire, with the text of the choice. */
export const lifetimes = [
  ['never', 'Never'],
  ...['30', '90', '365'].map((days) => [days, `In ${days} days`] as const),
  ['date', 'After a date'],
] as const;

/** When a key expires, in seconds since 1970: never (null), a number of days from now, or at the end of a day in the local time zone. */
export function expiryOf(lifetime: string, date: string, now: number): number | null {
  if (lifetime === 'never') return null;
  if (lifetime !== 'date') return Math.floor(now) + Number(lifetime) * 86_400;
  const [year = 0, month = 1, day = 1] = date.split('-').map(Number);
  return new Date(year, month - 1, day + 1).getTime() / 1000;
}
