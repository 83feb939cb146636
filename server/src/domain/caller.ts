import type { KeyKind } from '../contract/record.ts';

/** Who sends a request, with everything that its kind of key has. */
export type Caller =
  | { kind: 'app'; key_id: string; workspace_id: string; app: App }
  | { kind: 'writer'; key_id: string; workspace_id: string; app: App }
  | { kind: 'knowledge'; key_id: string; workspace_id: string; dataset_ids: readonly string[] | null }
  | { kind: 'admin'; key_id: string };

export type App = { id: string; mode: string };
export type CallerOf<K extends KeyKind> = Extract<Caller, { kind: K }>;
