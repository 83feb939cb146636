import type { KeyKind, keyKindTable } from '../contract/key-kinds.ts';
import type { Role } from '../contract/people/roles.ts';

export type App = { id: string; mode: string };

/** `key_id`: the author, see `author.ts`: of kind admin it may be a person. `read_only`: it allows no writes. */
type Callers = {
  [K in KeyKind]: { kind: K; key_id: string; read_only: boolean } & ReachOf<(typeof keyKindTable)[K]['requires']> &
    (K extends 'feed' ? { app_id: string | null } : unknown) &
    (K extends 'admin' ? { role: Role } : unknown);
};

/** An authenticated caller: a key, with the app, workspace or datasets that its kind is limited to. */
export type Caller = Callers[KeyKind];
export type CallerOf<K extends KeyKind> = Callers[K];

type ReachOf<Required> = Required extends readonly []
  ? unknown
  : Required extends readonly ['app_id']
    ? { workspace_id: string; app: App }
    : { workspace_id: string; dataset_ids: readonly string[] | null };
