import type { Store } from '../domain/store/store.ts';
import type { SourcePoint } from './point.ts';
import type { DifySource, ImportOptions, Report } from './source.ts';
import type { SourceState } from './state.ts';
import type { Writer } from './writer.ts';

/** The context that all parts of one run share. */
export type RunContext = {
  source: DifySource;
  /** Undefined if a dry run has no database to compare with. */
  store: Store | undefined;
  options: ImportOptions;
  /** The source owns the data: requests store what they have changed in it while it is read. */
  isOwner: boolean;
  state: SourceState;
  writer: Writer;
  report: Report;
  /** Rows skipped while `work` runs are not reported: they were reported when they were read before. */
  muteReport<T>(work: () => Promise<T>): Promise<T>;
  /** Skipped rows of tables that every sync reads. */
  listedSkips: Set<string>;
  readPoint(): Promise<SourcePoint>;
  /** Progress for the command, set by the current phase. */
  progress: Progress;
  /** A warning for operators. The same text is given once. */
  warn(text: string): void;
  /** Called between batches. Throws if the run was stopped. While a source is followed, new messages are read here. */
  checkpoint(): Promise<void>;
  signal: AbortSignal;
  /** Milliseconds since the epoch. */
  clock: () => number;
};

/** `total` is an estimate, and undefined if nothing is known. */
export type Progress = { phase: string; done: number; total: number | undefined };

export const begin = (progress: Progress, phase: string, total: number | undefined): void =>
  void Object.assign(progress, { phase, done: 0, total });

export const nowSeconds = ({ clock }: Pick<RunContext, 'clock'>): number => Math.floor(clock() / 1000);
