import type { Store } from '../domain/store.ts';
import type { DifySource, ImportOptions, Report } from './source.ts';
import type { SourceState } from './state.ts';
import type { Writer } from './writer.ts';

/** What all parts of one run use. */
export type RunContext = {
  source: DifySource;
  /** Undefined if a dry run has no database to compare with. */
  store: Store | undefined;
  options: ImportOptions;
  state: SourceState;
  writer: Writer;
  report: Report;
  /** What is skipped while `work` runs is not reported: it was reported when it was read before. */
  quietly<T>(work: () => Promise<T>): Promise<T>;
  /** Skipped rows of tables that every pass reads. */
  listedSkips: Set<string>;
  /** Applies deletions of the source. */
  isMirror: boolean;
  signal: AbortSignal;
};

export const nowSeconds = (): number => Math.floor(Date.now() / 1000);
