import type { KeyKind, keyKindTable } from '../contract/key-kinds.ts';

export type App = { id: string; mode: string };

/** An authenticated caller: a key, with the app, workspace or datasets that its kind is limited to. */
export type Caller = { [K in KeyKind]: CallerOf<K> }[KeyKind];
/** `read_only`: it allows no writes. */
export type CallerOf<K extends KeyKind> = { kind: K; key_id: string; read_only: boolean } & ReachOf<
  (typeof keyKindTable)[K]['requires']
> &
  (K extends 'feed' ? { app_id: string | null } : unknown);

type ReachOf<Required> = Required extends readonly []
  ? unknown
  : Required extends readonly ['app_id']
    ? { workspace_id: string; app: App }
    : { workspace_id: string; dataset_ids: readonly string[] | null };
