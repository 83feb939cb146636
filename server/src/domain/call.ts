import type { KeyKind } from '../contract/key-kinds.ts';
import type { CallerOf } from './caller.ts';
import type { Store } from './store/store.ts';

/** What the use cases for a kind of key need of a request, in addition to its parameters. */
export type Call<K extends KeyKind> = {
  store: Store;
  caller: CallerOf<K>;
  /** Seconds since the epoch. */
  now: number;
  /** The signal aborts when the client disconnects. */
  disconnected: () => AbortSignal;
};

/** Who writes: a key or a person, or null for the command line; and when, in seconds. */
export type Author = { key_id: string | null; now: number };
