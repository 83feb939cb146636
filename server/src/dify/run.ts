import { setTimeout as sleep } from 'node:timers/promises';
import type { RecordKind } from '../contract/record.ts';
import { underLease } from '../domain/lease.ts';
import type { Store } from '../domain/store/store.ts';
import { compareConversations, compareDatasets } from './compare.ts';
import { importConfiguration } from './configuration.ts';
import { DifyConnection, SourceUnavailable } from './connection.ts';
import { createContext } from './create-context.ts';
import { applyDeletions } from './deletions.ts';
import { countOrphans, scanAll } from './find/changed.ts';
import type { Difference } from './find/differing.ts';
import { pollMessages } from './find/recent.ts';
import { Follower, type Lag } from './follower.ts';
import { IdSets } from './id-set.ts';
import { importModels } from './models.ts';
import type { SourcePoint } from './point.ts';
import { findOpen } from './rows/messages.ts';
import type { Progress, RunContext } from './run-context.ts';
import { type DifySource, existingIds, type ImportOptions, type RecordInput, type Report } from './source.ts';
import { readSourceId } from './state.ts';
import { addPending, syncAll, syncChanges } from './sync.ts';
import { DifferingRecords, type Verified, verify } from './verify.ts';
import type { KindCount } from './writer.ts';

export type RunOptions = {
  isDry: boolean;
  isForced: boolean;
  /** The source owns the data: what was changed in Backscroll is not kept where it changes. */
  isOwner: boolean;
  /** The address of the API of the Dify installation, and its knowledge keys, for model providers. */
  models: { url: string; keys: readonly string[] } | undefined;
  /** Compares everything, and writes nothing: what differs is compared again for this time while the source is followed. */
  settleMillis?: number;
  /** Seconds between two polls; undefined: the run ends when it finds nothing new. */
  follow: number | undefined;
  /** Milliseconds since the epoch. */
  clock: () => number;
};

export type RunEvents = {
  /** The schema version of the source, and whether everything is read or what has changed. */
  begin(schema: string, kind: 'verify' | 'full' | 'resumed' | 'changes'): void;
  /** Several times a second, until the source is followed. */
  progress(progress: Progress): void;
  difference(difference: Difference): void;
  /** Everything is stored, and is followed from now on. */
  complete(messagesRead: number): void;
  /** A poll has ended. */
  lag(lag: Lag, written: number): void;
  /** A warning for operators. */
  warning(text: string): void;
  /** Another process follows this source, and this one waits until it ends. */
  elsewhere(): void;
  /** The source does not respond, or responds again. */
  unavailable(error: Error | undefined): void;
};

export type RunResult = {
  counts: ReadonlyMap<RecordKind, KindCount>;
  compared: number;
  differences: number;
  verified?: Verified;
};

/** Incremental syncs, after the first sync: a busy source never has nothing new. */
const syncsMax = 5;
const hourlyMillis = 3_600_000;
const retryMillis = 1_000;
const progressMillis = 200;

/** Imports from the database of a Dify installation, and follows its changes if that is wanted. */
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
    const { isForced, isOwner, clock } = run;
    const isDry = run.isDry || run.settleMillis !== undefined;
    const runOnce = async (signal: AbortSignal): Promise<RunResult> => {
      let current: Run | undefined;
      const poll = async () => current?.pollIfDue();
      const parts = { source, store, options, isOwner, report, warn: events.warning, signal, clock };
      const found = run.settleMillis === undefined ? undefined : new DifferingRecords(clock);
      const onPlanned = (record: RecordInput) => found?.add(record);
      const context = createContext({ ...parts, id, isDry, isForced: isForced || isOwner, poll, onPlanned });
      try {
        if (found !== undefined) return await verifyAll(context, found, run.settleMillis ?? 0, events);
        current = new Run(context, run, events);
        return await current.run();
      } finally {
        context.writer.close();
      }
    };
    if (run.follow === undefined || store === undefined) return await runOnce(signal);
    const lease = { store, name: `follow ${id}`, clock, onWait: events.elsewhere };
    return await underLease(lease, signal, runOnce);
  } finally {
    await source.close();
  }
}

/** A wrong id would otherwise select nothing, and revoke keys. */
async function requireSelected(
  source: DifySource,
  table: string,
  name: string,
  ids: readonly string[] | undefined,
): Promise<void> {
  if (ids === undefined) return;
  const existing = await existingIds(source, table, ids);
  const missing = ids.find((id) => !existing.has(id));
  if (missing !== undefined) throw new Error(`the Dify installation has no ${name} ${missing}`);
}

async function verifyAll(
  context: RunContext,
  found: DifferingRecords,
  settleMillis: number,
  events: RunEvents,
): Promise<RunResult> {
  events.begin(await readSchema(context.source), 'verify');
  const timer = setInterval(() => events.progress(context.progress), progressMillis);
  try {
    const { followed } = await context.state.read();
    const verified = await verify(context, found, followed === undefined ? 0 : settleMillis);
    return { counts: context.writer.counts, compared: 0, differences: 0, verified };
  } finally {
    clearInterval(timer);
  }
}

class Run {
  readonly #context: RunContext;
  readonly #run: RunOptions;
  readonly #events: RunEvents;
  readonly #changed = new IdSets();
  #follower: Follower | undefined;

  constructor(context: RunContext, run: RunOptions, events: RunEvents) {
    this.#context = context;
    this.#run = run;
    this.#events = events;
  }

  async run(): Promise<RunResult> {
    const { writer, state, progress } = this.#context;
    const timer = setInterval(() => this.#events.progress(progress), progressMillis);
    try {
      const point = await this.#retry(() => this.#firstSyncs());
      if (this.#run.models !== undefined)
        await importModels(this.#context, this.#run.models.url, this.#run.models.keys);
      const differences: Difference[] = [];
      const compared = this.#run.isDry ? 0 : await this.#retry(() => this.#compare(point, differences));
      for (const difference of differences) this.#events.difference(difference);
      clearInterval(timer);
      if (this.#run.follow !== undefined) {
        this.#events.complete(writer.counts.get('message')?.read ?? 0);
        await this.#follow(point, this.#run.follow);
      } else await state.writeFollowed(null);
      return { counts: writer.counts, compared, differences: differences.length };
    } finally {
      clearInterval(timer);
      this.#changed.close();
      this.#follower?.close();
    }
  }

  /** Polls, if the source is followed and it is time. */
  async pollIfDue(): Promise<void> {
    await this.#follower?.pollIfDue();
  }

  async #firstSyncs(): Promise<SourcePoint> {
    const { source, state, writer, readPoint, checkpoint } = this.#context;
    const { complete, position: stored, followed } = await state.read();
    const { isForced, follow } = this.#run;
    const position = stored?.isForced === isForced ? stored : undefined;
    const isFull = complete === undefined || isForced;
    this.#events.begin(await readSchema(source), position ? 'resumed' : isFull ? 'full' : 'changes');
    let point = await readPoint();
    let since = complete;
    // Local changes are overwritten also where the source has not changed: a forced run reads everything.
    if (position !== undefined || isFull) {
      since = position?.start ?? point;
      await syncAll(this.#context, { start: since, isForced }, position);
      const countTable = (table: string, count: number) => this.#context.report.count(`orphans in ${table}`, count);
      await countOrphans(source, countTable, checkpoint);
      await this.#complete(since);
      if (this.#run.isDry) return since;
      const time = since.time * 1000;
      if (follow !== undefined) await state.writeFollowed({ messages: since, messages_at: time, others_at: time });
    } else if (follow !== undefined) {
      // A sync takes minutes: what readers wait for comes first, and again and again while it runs.
      this.#follower ??= this.#createFollower({ messages: followed?.messages ?? complete, complete }, follow);
      await this.#follower.poll('messages');
    }
    for (let sync = 1; sync <= syncsMax; sync += 1) {
      const before = writer.written;
      point = await this.#changesSince(since as SourcePoint);
      since = point;
      if (writer.written === before || this.#run.isDry) break;
    }
    return point;
  }

  /** A complete incremental sync: everything that has changed since a point. */
  async #changesSince(since: SourcePoint): Promise<SourcePoint> {
    const { source, state, readPoint } = this.#context;
    const start = await readPoint();
    await importConfiguration(this.#context, this.#changed);
    await scanAll(source, since, start, this.#changed, this.#context);
    await addPending(this.#context, this.#changed);
    const pending = await state.listPending('message');
    await pollMessages(source, since, start, pending, this.#changed);
    await syncChanges(this.#context, this.#changed);
    const open = await findOpen(source, pending);
    const final = pending.filter((id) => !open.has(id));
    await state.endPending('message', final);
    await this.#complete(start);
    return start;
  }

  async #complete(start: SourcePoint): Promise<void> {
    await applyDeletions(this.#context, start);
    await this.#context.state.complete(start);
  }

  async #compare(point: SourcePoint, differences: Difference[]): Promise<number> {
    differences.length = 0;
    const visit = (difference: Difference) => void differences.push(difference);
    const compared = await compareConversations(this.#context, point, visit);
    await compareDatasets(this.#context, point, visit);
    return compared;
  }

  #createFollower(points: { messages: SourcePoint; complete: SourcePoint }, seconds: number): Follower {
    return new Follower(this.#context, points, seconds, this.#events.lag);
  }

  /** Polls until the run is stopped, with a complete sync every hour. */
  async #follow(first: SourcePoint, seconds: number): Promise<void> {
    const { signal } = this.#context;
    let complete = first;
    const follower = (this.#follower ??= this.#createFollower({ messages: first, complete }, seconds));
    follower.completed(complete);
    const { clock } = this.#run;
    for (let hourly = clock() + hourlyMillis; !signal.aborted; ) {
      await this.#retry(async () => {
        if (clock() < hourly && (await follower.poll('all'))) return;
        complete = await this.#changesSince(complete);
        follower.completed(complete);
        hourly = clock() + hourlyMillis;
      });
      await sleep(seconds * 1000, undefined, { signal }).catch(() => undefined);
    }
  }

  /** While the source is followed, its outages are waited for. */
  async #retry<T>(work: () => Promise<T>): Promise<T> {
    let isAvailable = true;
    for (;;) {
      try {
        const result = await work();
        if (!isAvailable) this.#events.unavailable(undefined);
        return result;
      } catch (error) {
        if (this.#run.follow === undefined || !(error instanceof SourceUnavailable)) throw error;
        if (isAvailable) this.#events.unavailable(error);
        isAvailable = false;
      }
      await sleep(retryMillis, undefined, { signal: this.#context.signal });
    }
  }
}

async function readSchema(source: DifySource): Promise<string> {
  if (!source.has('alembic_version')) return 'unknown';
  const rows = await source.query<{ version_num: string }>('SELECT version_num FROM alembic_version', []);
  return rows.map(({ version_num }) => version_num).join(', ') || 'unknown';
}
