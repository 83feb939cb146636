import type { DifyConnection } from './connection.ts';
import { pointReader } from './point.ts';
import type { RunContext } from './run-context.ts';
import type { RecordInput, Report } from './source.ts';
import { SourceState } from './state.ts';
import { Writer } from './writer.ts';

type Parts = Pick<RunContext, 'store' | 'options' | 'isOwner' | 'report' | 'warn' | 'signal' | 'clock'> & {
  source: DifyConnection;
  /** The id of the installation. */
  id: string;
  isDry: boolean;
  /** What was changed in Backscroll is not kept. */
  isForced: boolean;
  /** Called between batches. */
  poll?: () => Promise<void>;
  /** Called with each record that a dry run would have written. */
  onPlanned?: (record: RecordInput) => void;
};

/** The context of one run. Its writer must be closed. */
export function createContext({ id, isDry, isForced, ...parts }: Parts): RunContext {
  const { source, store, options, isOwner, signal, clock, poll, onPlanned = () => undefined } = parts;
  const { report, muteReport, isMuted } = withMute(parts.report);
  const warn = onceEach(parts.warn);
  const state = new SourceState(store?.imports, id, options, isDry);
  return {
    source,
    store,
    options,
    isOwner,
    state,
    writer: new Writer(store, state, report, { isForced, isDry, clock, onPlanned }),
    report,
    muteReport,
    listedSkips: new Set(),
    readPoint: pointReader(source, warn),
    progress: { phase: '', done: 0, total: undefined },
    warn,
    checkpoint: async () => {
      signal.throwIfAborted();
      if (!isMuted()) await poll?.();
    },
    signal,
    clock,
  };
}

function withMute(report: Report): Pick<RunContext, 'report' | 'muteReport'> & { isMuted: () => boolean } {
  let isMuted = false;
  return {
    isMuted: () => isMuted,
    report: {
      skip: (skip) => void (isMuted || report.skip(skip)),
      count: (what, n) => void (isMuted || report.count(what, n)),
    },
    muteReport: async (work) => {
      isMuted = true;
      try {
        return await work();
      } finally {
        isMuted = false;
      }
    },
  };
}

function onceEach(give: (text: string) => void): (text: string) => void {
  const given = new Set<string>();
  return (text) => {
    if (given.has(text)) return;
    given.add(text);
    give(text);
  };
}
