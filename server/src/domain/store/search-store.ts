import type { AppliedChanges, IndexChange, IndexCheck, IndexDifference, IndexState } from './search-reads.ts';
import type { SearchInput, SearchName, SearchResult } from './searches.ts';

/** The index of messages and of knowledge bases. */
export interface SearchStore {
  state(): Promise<IndexState>;
  /** The time of the first change after a position of the change feed; null if there is none. */
  timeAfter(position: number): Promise<number | null>;
  /** Runs a search where it holds up no other request. It ends when `signal` aborts. */
  run<N extends SearchName>(name: N, input: SearchInput<N>, signal: AbortSignal): Promise<SearchResult<N>>;

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
   * Undefined if another process has indexed since `from`.
   */
  apply(from: string, changes: readonly IndexChange[], millis: number): Promise<AppliedChanges | undefined>;
}
