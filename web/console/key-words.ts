/** Keys as they are spoken of. */
export const keyKinds = ['app', 'knowledge', 'writer', 'admin'] as const;
export type KeyKind = (typeof keyKinds)[number];

export type Key = {
  id: string;
  kind: KeyKind;
  name: string;
  workspace_id: string | null;
  app_id: string | null;
  dataset_ids: readonly string[] | null;
  created_at: number;
  expires_at: number | null;
  revoked_at: number | null;
  last_used_at: number | null;
};

export const keyStates = ['active', 'expired', 'revoked'] as const;
export type KeyState = (typeof keyStates)[number];

export function stateOf({ revoked_at, expires_at }: Key, now: number): KeyState {
  if (revoked_at !== null) return 'revoked';
  return expires_at !== null && expires_at <= now ? 'expired' : 'active';
}

export const opens: Record<KeyKind, string> = {
  app: 'Reads the messages of one app and lists the models of its workspace. For a chat front end’s server.',
  knowledge: 'Edits child chunks of a workspace, or of some of its datasets, and lists models.',
  writer: 'Writes conversations and messages of one app. For a chat back end.',
  admin: 'Opens everything: all records in and out, keys, metrics and this console. Give it to few.',
};

/** Names by id, as far as they are known. */
export type Names = ReadonlyMap<string, string>;

export function reachOf({ kind, app_id, workspace_id, dataset_ids }: Key, names: Names): string {
  const name = (id: string | null) => names.get(id ?? '') ?? id ?? '';
  if (kind === 'admin') return 'everything';
  if (kind !== 'knowledge') return `app ${name(app_id)}`;
  if (dataset_ids === null) return `all datasets of ${name(workspace_id)}`;
  return `${dataset_ids.length === 1 ? 'dataset' : 'datasets'} ${dataset_ids.map(name).join(', ')}`;
}

/** What people call a key: its name, or its kind and the start of its id. */
export function titleOf({ id, kind, name }: Pick<Key, 'id' | 'kind' | 'name'>): string {
  return name.trim() === '' ? `${kind} key ${id.slice(0, 8)}` : name;
}

/** A first request with a new key. A conversation is asked for where one is known. */
export function curlOf(kind: KeyKind, secret: string, origin: string, conversation_id?: string): string {
  const line = (path: string, more = '') => `curl ${more}-H 'Authorization: Bearer ${secret}' '${origin}${path}'`;
  switch (kind) {
    case 'admin':
      return line('/admin/keys');
    case 'writer':
      return line('/admin/records', "--data-binary @records.ndjson -H 'Content-Type: application/x-ndjson' ");
    case 'app':
      if (conversation_id !== undefined) return line(`/v1/messages?conversation_id=${conversation_id}`);
      return line('/v1/workspaces/current/models/model-types/llm');
    case 'knowledge':
      return line('/v1/workspaces/current/models/model-types/llm');
  }
}

export const lifetimes = ['never', '30', '90', '365', 'date'] as const;

/** When a key ends, in seconds: null for never; so many days from now; or the end of a day, where the reader is. */
export function expiryOf(lifetime: string, date: string, now: number): number | null {
  if (lifetime === 'never') return null;
  if (lifetime !== 'date') return Math.floor(now) + Number(lifetime) * 86_400;
  const [year = 0, month = 1, day = 1] = date.split('-').map(Number);
  return new Date(year, month - 1, day + 1).getTime() / 1000;
}
