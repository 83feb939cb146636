import type { QueryToken } from './tokens.ts';

/** What the index is searched for: at least one token of each list. */
export type IndexQuery = {
  tokens: readonly (readonly QueryToken[])[];
  conversation_id?: string | undefined;
  min_cost?: number | undefined;
  min_latency?: number | undefined;
  /** Only messages with a form that expires after this time in seconds. */
  waits_after?: number | undefined;
  /** Only messages from this time in seconds on, and before that one. */
  created_from?: number | undefined;
  created_to?: number | undefined;
  /** Positions: the first one, and the end. */
  from?: number | undefined;
  to?: number | undefined;
};

export type IndexHit = { position: number; conversation_id: string; id: string };
export type MessageHit = { conversation_id: string; id: string; app_id: string; user: string | null; doc: string };

export type ChunkKind = 'segment' | 'child_chunk';
export type ChunkIndexHit = { position: number; dataset_id: string; kind: ChunkKind; id: string };
export type ChunkHit = {
  dataset_id: string;
  dataset_name: string;
  document_id: string;
  document_name: string;
  segment_id: string;
  child_chunk_id: string | null;
  content: string;
};

/** A change that the indexer has read. `cursor` is the place behind it. */
export type IndexChange = { cursor: string } & (
  | { kind: 'message'; conversation_id: string; id: string }
  | { kind: 'conversation'; id: string }
  | { kind: ChunkKind; dataset_id: string; id: string }
  | { kind: 'none' }
);

/** How far the indexer has read the change feed; '' from the start. `rules`: of the tokens in the index. */
export type IndexState = { cursor: string; rules: string };

/**
 * `missing`: a record has no entry; `erased`: an entry has no record; `differs`: an entry has other tokens or values than its
 * record. `scope` is the conversation of a message, and the dataset of a chunk.
 */
export type IndexDifference = {
  kind: 'message' | ChunkKind;
  scope: string;
  id: string;
  fault: 'missing' | 'erased' | 'differs';
};
/** `strayWords` are words in the index that belong to no entry. */
export type IndexCheck = { records: number; strayWords: number };

/** The index of messages and of knowledge bases. */
export interface SearchStore {
  state(): Promise<IndexState>;
  /** The time of the first change after a position of the change feed; null if there is none. */
  timeAfter(position: number): Promise<number | null>;
  /** Newest first. */
  findMessages(query: IndexQuery, count: number): Promise<IndexHit[]>;
  /** Stops at `max`. */
  countMessages(query: IndexQuery, max: number): Promise<number>;
  /**
   * Without those that do not exist or whose conversation was deleted. In any order, and with messages of other conversations
   * that have the same ids.
   */
  readMessages(hits: readonly IndexHit[]): Promise<MessageHit[]>;
  findChunks(query: IndexQuery, count: number): Promise<ChunkIndexHit[]>;
  /** In the order of the hits; undefined for those that do not exist. */
  readChunks(hits: readonly ChunkIndexHit[]): Promise<(ChunkHit | undefined)[]>;

  /** The number of records in the index. */
  count(): Promise<number>;
  /**
   * Compares the index with the records, without those that have changed since the indexer's cursor. `sliceMax`: how many
   * entries are in memory at the same time.
   */
  check(report: (difference: IndexDifference) => void, sliceMax?: number): Promise<IndexCheck>;

  /** Undefined if another process indexes. Otherwise no other one does so until the lease expires. */
  takeLease(holder: string, expires_at: number, now: number): Promise<IndexState | undefined>;
  /** Makes the index empty, to be built again from the start of the feed. */
  reset(rules: string): Promise<void>;
  /**
   * Brings the index up to date with so many of these changes as take about `millis`, and stores the cursor behind them.
   * Returns that cursor; undefined if another process has indexed since `from`.
   */
  apply(from: string, changes: readonly IndexChange[], millis: number): Promise<string | undefined>;
}
