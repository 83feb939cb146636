import type { DifyConnection } from './connection.ts';
import { pointReader } from './point.ts';
import type { RunContext } from './run-context.ts';
import { SourceState } from './state.ts';
import { Writer, type WriterOptions } from './writer.ts';

type Parts = Pick<RunContext, 'store' | 'options' | 'isOwner' | 'report' | 'warn' | 'signal' | 'clock'> &
  Pick<WriterOptions, 'isDry' | 'isForced' | 'onPlanned'> & {
    source: DifyConnection;
    id: string;
    poll?: () => Promise<void>;
  };

/** The context of one run. Its writer must be closed. */
export function createContext({ id, isDry, isForced, onPlanned, poll, ...parts }: Parts): RunContext {
  const { source, store, options, signal, clock } = parts;
  const [isFirstSkip, isFirstWarning] = [isFirst(), isFirst()];
  const report: RunContext['report'] = {
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
    report,
    warn,
    state,
    writer: new Writer(store, state, report, { isForced, isDry, clock, onPlanned }),
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
