import { setTimeout as sleep } from 'node:timers/promises';
import type { RecordKind } from '../contract/record.ts';
import type { Store } from '../domain/store.ts';
import { compareConversations, compareDatasets, type Difference } from './compare.ts';
import { DifyConnection, SourceUnavailable } from './connection.ts';
import { importHead } from './head.ts';
import { IdSets } from './id-set.ts';
import { mirrorDeletions } from './mirror.ts';
import { importModels } from './models.ts';
import { changedPass, fullPass } from './pass.ts';
import type { RunContext } from './run-context.ts';
import { countOrphans, pollMessages, pollOthers, readHeadFingerprint, scanAll } from './scan.ts';
import type { DifySource, ImportOptions, Report } from './source.ts';
import { isComparable, readPoint, readServer, readSourceId, type SourcePoint, SourceState } from './state.ts';
import { type KindCount, Writer } from './writer.ts';

export type RunOptions = {
  isDry: boolean;
  isForced: boolean;
  isMirror: boolean;
  /** The address of the API of the Dify, and its knowledge keys, for model providers. */
  models: { url: string; keys: readonly string[] } | undefined;
  /** Seconds between two polls; undefined: the run ends when it finds nothing new. */
  follow: number | undefined;
};

export type RunEvents = {
  /** The schema version of the source, and whether everything is read or what has changed. */
  begin(schema: string, kind: 'full' | 'resumed' | 'changes'): void;
  progress(counts: ReadonlyMap<RecordKind, KindCount>): void;
  difference(difference: Difference): void;
  /**
   * A poll has ended: new messages that were committed in the source at most `messages` seconds ago may be missing, and other
   * rows, such as documents and feedback, that were committed at most `others` seconds ago.
   */
  lag(seconds: { messages: number; others: number }, written: number): void;
  /** The source does not respond, or responds again. */
  unavailable(error: Error | undefined): void;
};

export type RunResult = { counts: ReadonlyMap<RecordKind, KindCount>; compared: number; differences: number };

/** Passes over changes, after the first: a busy source never has nothing new. */
const passesMax = 5;
const hourlyMillis = 3_600_000;
const minuteMillis = 60_000;
const retryMillis = 1_000;

/** Imports from the database of a Dify, and follows its changes if that is wanted. */
export async function importFromDify(
  url: string,
  store: Store | undefined,
  options: ImportOptions,
  run: RunOptions,
  report: Report,
  events: RunEvents,
  signal: AbortSignal,
): Promise<RunResult> {
  const source = await DifyConnection.open(url);
  try {
    const id = await readSourceId(source);
    await requireSelected(source, 'tenants', 'workspace', options.workspaceIds);
    await requireSelected(source, 'apps', 'app', options.appIds);
    const state = new SourceState(store?.imports, id, options, run.isDry);
    const { audible, quietly } = withQuiet(report);
    const writer = new Writer(store, id, audible, run);
    const listedSkips = new Set<string>();
    const { isMirror } = run;
    const context = { source, store, options, state, writer, report: audible, quietly, listedSkips, isMirror, signal };
    try {
      return await new Run(context, run, events).run();
    } finally {
      writer.close();
    }
  } finally {
    await source.close();
  }
}

function withQuiet(report: Report): { audible: Report; quietly: RunContext['quietly'] } {
  let isQuiet = false;
  return {
    audible: {
      skip: (skip) => void (isQuiet || report.skip(skip)),
      count: (what, n) => void (isQuiet || report.count(what, n)),
    },
    quietly: async (work) => {
      isQuiet = true;
      try {
        return await work();
      } finally {
        isQuiet = false;
      }
    },
  };
}

/** A wrong id would otherwise select nothing, and revoke keys. */
async function requireSelected(
  source: DifySource,
  table: string,
  name: string,
  ids: readonly string[] | undefined,
): Promise<void> {
  if (ids === undefined) return;
  const rows = await source.query<{ id: string }>(`SELECT id FROM ${table} WHERE id = ANY($1::uuid[])`, [ids]);
  const missing = ids.find((id) => !rows.some((row) => row.id === id));
  if (missing !== undefined) throw new Error(`the Dify has no ${name} ${missing}`);
}

class Run {
  readonly #context: RunContext;
  readonly #run: RunOptions;
  readonly #events: RunEvents;
  readonly #changed = new IdSets();
  #server = '';

  constructor(context: RunContext, run: RunOptions, events: RunEvents) {
    this.#context = context;
    this.#run = run;
    this.#events = events;
  }

  async run(): Promise<RunResult> {
    const { writer } = this.#context;
    const timer = setInterval(() => this.#events.progress(writer.counts), 200);
    try {
      const point = await this.#retry(() => this.#firstPasses());
      if (this.#run.models !== undefined)
        await importModels(this.#context, this.#run.models.url, this.#run.models.keys);
      let compared = 0;
      let differences = 0;
      if (!this.#run.isDry) {
        const visit = (difference: Difference) => {
          differences += 1;
          this.#events.difference(difference);
        };
        compared = await compareConversations(this.#context, point, visit);
        await compareDatasets(this.#context, point, this.#changed, visit);
      }
      if (this.#run.follow !== undefined) await this.#follow(point, this.#run.follow);
      return { counts: writer.counts, compared, differences };
    } finally {
      clearInterval(timer);
      this.#changed.close();
    }
  }

  async #firstPasses(): Promise<SourcePoint> {
    const { source, state, writer } = this.#context;
    const { complete, position: stored } = await state.read();
    const { isForced } = this.#run;
    const position = stored?.isForced === isForced ? stored : undefined;
    const isFull = complete === undefined || isForced;
    this.#server = await readServer(source);
    this.#events.begin(await readSchema(source), position ? 'resumed' : isFull ? 'full' : 'changes');
    let point = await readPoint(source, this.#server);
    let since = complete;
    // What was changed here is overwritten also where the source has not changed: a forced run reads everything.
    if (position !== undefined || isFull) {
      since = position?.start ?? point;
      await fullPass(this.#context, { start: since, isForced }, position);
      const countTable = (table: string, count: number) => this.#context.report.count(`orphans in ${table}`, count);
      await countOrphans(source, countTable, this.#context.signal);
      await this.#complete(since);
      if (this.#run.isDry) return since;
    }
    for (let pass = 1; pass <= passesMax; pass += 1) {
      const before = writer.written;
      point = await this.#changesSince(since as SourcePoint);
      since = point;
      if (writer.written === before || this.#run.isDry) break;
    }
    return point;
  }

  /** A complete pass over everything that has changed since a point. */
  async #changesSince(since: SourcePoint): Promise<SourcePoint> {
    const { source, signal } = this.#context;
    const start = await readPoint(source, this.#server);
    await importHead(this.#context, this.#changed);
    await scanAll(source, since, start, this.#changed, signal);
    await pollMessages(source, since, start, this.#changed);
    await changedPass(this.#context, this.#changed);
    await this.#complete(start);
    return start;
  }

  async #complete(start: SourcePoint): Promise<void> {
    if (this.#run.isMirror) await mirrorDeletions(this.#context);
    await this.#context.state.complete(start);
  }

  /** Polls until the signal is aborted. */
  async #follow(first: SourcePoint, seconds: number): Promise<void> {
    const { signal, writer } = this.#context;
    const polls = { complete: first, messages: first, others: first, fingerprint: '' };
    let [hourly, minutely] = [Date.now() + hourlyMillis, Date.now()];
    let [previousStart, previousMinutely] = [performance.now(), performance.now()];
    while (!signal.aborted) {
      const written = writer.written;
      const start = performance.now();
      const isHourly = Date.now() >= hourly;
      const isMinutely = Date.now() >= minutely;
      await this.#retry(() => this.#poll(polls, isHourly, isMinutely));
      if (isHourly) hourly = Date.now() + hourlyMillis;
      if (isMinutely) minutely = Date.now() + minuteMillis;
      const secondsSince = (time: number) => (performance.now() - time) / 1000;
      const lag = { messages: secondsSince(previousStart), others: secondsSince(previousMinutely) };
      this.#events.lag(lag, writer.written - written);
      previousStart = start;
      if (isMinutely || isHourly) previousMinutely = start;
      await sleep(seconds * 1000, undefined, { signal }).catch(() => undefined);
    }
  }

  async #poll(polls: Polls, isHourly: boolean, isMinutely: boolean): Promise<void> {
    const { source } = this.#context;
    const start = await readPoint(source, this.#server);
    if (isHourly || !isComparable(polls.messages, start)) {
      polls.messages = polls.others = polls.complete = await this.#changesSince(polls.complete);
      return;
    }
    const fingerprint = await readHeadFingerprint(source);
    if (fingerprint !== polls.fingerprint) await importHead(this.#context, this.#changed);
    polls.fingerprint = fingerprint;
    if (isMinutely) await pollOthers(source, polls.others, start, this.#changed);
    await pollMessages(source, polls.messages, start, this.#changed);
    await changedPass(this.#context, this.#changed);
    polls.messages = start;
    if (isMinutely) polls.others = start;
  }

  /** While the source is followed, its outages are waited for. Another server may respond after one. */
  async #retry<T>(work: () => Promise<T>): Promise<T> {
    const { follow } = this.#run;
    let isAvailable = true;
    for (;;) {
      try {
        const result = await work();
        if (!isAvailable) this.#events.unavailable(undefined);
        return result;
      } catch (error) {
        if (follow === undefined || !(error instanceof SourceUnavailable)) throw error;
        if (isAvailable) this.#events.unavailable(error);
        isAvailable = false;
      }
      await sleep(retryMillis, undefined, { signal: this.#context.signal });
      this.#server = await readServer(this.#context.source);
    }
  }
}

/** The starts of the last polls, and of the last complete pass. */
type Polls = { complete: SourcePoint; messages: SourcePoint; others: SourcePoint; fingerprint: string };

async function readSchema(source: DifySource): Promise<string> {
  if (!source.has('alembic_version')) return 'unknown';
  const rows = await source.query<{ version_num: string }>('SELECT version_num FROM alembic_version', []);
  return rows.map(({ version_num }) => version_num).join(', ') || 'unknown';
}
