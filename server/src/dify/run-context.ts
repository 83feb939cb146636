import type { RecordKind } from '../contract/record.ts';
import type { Store } from '../domain/store/store.ts';
import type { DifySource, ImportOptions, RecordInput, Report, SourcePoint } from './source.ts';
import type { SourceState } from './state.ts';

export type RunContext = {
  source: DifySource;
  /** Undefined if a dry run has no database to compare with. */
  store: Store | undefined;
  options: ImportOptions;
  /** The source owns the data: requests store what they have changed in it while it is read. */
  isOwner: boolean;
  state: SourceState;
  writer: RecordWriter;
  /** Equal skips are reported once. */
  report: Report;
  /** Messages whose end was seen: they are finished, whatever their rows look like. */
  finished: ReadonlySet<string>;
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

/** Records of a kind that were read, and those of them that were written. */
export type KindCount = { read: number; written: number };

/** Writes records that differ from the stored ones. Parents come before their children. */
export type RecordWriter = {
  readonly counts: ReadonlyMap<RecordKind, KindCount>;
  readonly written: number;
  add(record: RecordInput): Promise<void>;
  /** As one import, of any number. */
  writeTogether(records: readonly RecordInput[]): Promise<void>;
  /** Everything that was added is stored when this resolves. */
  flush(): Promise<void>;
  close(): void;
};

/** `total` is an estimate, and undefined if nothing is known. */
export type Progress = { phase: string; done: number; total: number | undefined };

export const begin = (progress: Progress, phase: string, total: number | undefined): void =>
  void Object.assign(progress, { phase, done: 0, total });

export const nowSeconds = ({ clock }: Pick<RunContext, 'clock'>): number => Math.floor(clock() / 1000);
