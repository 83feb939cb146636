import type { Store } from '../domain/store/store.ts';
import { type DifyConnection, pointReader } from './connection.ts';
import type { DifySource, ImportOptions, Report, SourcePoint } from './source.ts';
import { SourceState } from './state.ts';
import { Writer, type WriterOptions } from './writer.ts';

export type RunContext = {
  source: DifySource;
  /** Undefined if a dry run has no database to compare with. */
  store: Store | undefined;
  options: ImportOptions;
  /** The source owns the data: requests store what they have changed in it while it is read. */
  isOwner: boolean;
  state: SourceState;
  writer: Writer;
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

/** `total` is an estimate, and undefined if nothing is known. */
export type Progress = { phase: string; done: number; total: number | undefined };

export const begin = (progress: Progress, phase: string, total: number | undefined): void =>
  void Object.assign(progress, { phase, done: 0, total });

type Parts = Pick<RunContext, 'store' | 'options' | 'isOwner' | 'report' | 'warn' | 'signal' | 'clock'> &
  Pick<WriterOptions, 'isDry' | 'isForced' | 'onPlanned'> & {
    source: DifyConnection;
    /** The id of the installation. */
    id: string;
    poll?: () => Promise<void>;
  };

/** The context of one run. Its writer must be closed. */
export function createContext({ id, isDry, isForced, onPlanned, poll, ...parts }: Parts): RunContext {
  const { source, store, options, signal, clock } = parts;
  const [isFirstSkip, isFirstWarning] = [isFirst(), isFirst()];
  const report: Report = {
    count: (what, n) => parts.report.count(what, n),
    skip: (skip) => {
      if (isFirstSkip(JSON.stringify(skip))) parts.report.skip(skip);
    },
  };
  const warn = (text: string) => {
    if (isFirstWarning(text)) parts.warn(text);
  };
  const state = new SourceState(store, id, options, isDry);
  return {
    ...parts,
    ...{ report, warn, state },
    writer: new Writer({ store, state, report, isForced, isDry, clock, onPlanned }),
    finished: new Set(),
    readPoint: pointReader(source, warn),
    progress: { phase: '', done: 0, total: undefined },
    checkpoint: async () => {
      signal.throwIfAborted();
      await poll?.();
    },
  };
}

/** Maximum number of texts in memory. */
const textsMax = 10_000;

/** Whether a text is new: a run reads rows twice, for example with their parents and because they have changed. */
function isFirst(): (text: string) => boolean {
  const texts = new Set<string>();
  return (text) => {
    if (texts.has(text)) return false;
    if (texts.size < textsMax) texts.add(text);
    return true;
  };
}
