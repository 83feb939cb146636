import { setTimeout as sleep } from 'node:timers/promises';
import type { RecordKind } from '../contract/record.ts';
import { underLease } from '../domain/lease.ts';
import type { Store } from '../domain/store/store.ts';
import { type Compared, compareAll, DifferingRecords, settle, type Verified } from './compare.ts';
import { importConfiguration } from './configuration.ts';
import { DifyConnection, SourceUnavailable } from './connection.ts';
import { countOrphans, findChanged } from './find/changed.ts';
import type { Difference } from './find/differing.ts';
import { findMessages } from './find/recent.ts';
import { Follower, type Lag } from './follower.ts';
import { IdSets } from './id-set.ts';
import { importModels } from './models.ts';
import { addPending, reconcileAll } from './reconcile.ts';
import { findOpen } from './rows/messages.ts';
import { createContext, type Progress, type RunContext } from './run-context.ts';
import {
  type DifySource,
  existingIds,
  type ImportOptions,
  type KindCount,
  type Report,
  type SourcePoint,
} from './source.ts';
import { readSourceId } from './state.ts';
import { syncAll, syncDeletions } from './sync.ts';

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
  lag(lag: Lag, written: number): void;
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
    const { isForced, isOwner, clock, settleMillis } = run;
    const parts = { source, store, options, isOwner, report, warn: events.warning, clock, id };
    const runOnce = async (signal: AbortSignal): Promise<RunResult> => {
      let current: Run | undefined;
      const found = settleMillis === undefined ? undefined : new DifferingRecords(clock);
      const context = createContext({
        ...parts,
        signal,
        isDry: run.isDry || found !== undefined,
        isForced: isForced || isOwner,
        poll: async () => current?.pollIfDue(),
        onPlanned: (record) => found?.add(record),
      });
      current = new Run(context, run, events);
      try {
        return found === undefined ? await current.run() : await current.verify(found, settleMillis ?? 0);
      } finally {
        current.close();
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
async function requireSelected(source: DifySource, table: string, name: string, ids: readonly string[] = []) {
  const existing = await existingIds(source, table, ids);
  const missing = ids.find((id) => !existing.has(id));
  if (missing !== undefined) throw new Error(`the Dify installation has no ${name} ${missing}`);
}

class Run {
  readonly #context: RunContext;
  readonly #run: RunOptions;
  readonly #events: RunEvents;
  readonly #changed = new IdSets();
  readonly #progressTimer: NodeJS.Timeout;
  #follower: Follower | undefined;

  constructor(context: RunContext, run: RunOptions, events: RunEvents) {
    this.#context = context;
    this.#run = run;
    this.#events = events;
    this.#progressTimer = setInterval(() => events.progress(context.progress), progressMillis);
  }

  close(): void {
    clearInterval(this.#progressTimer);
    this.#changed.close();
    this.#follower?.close();
    this.#context.writer.close();
  }

  async run(): Promise<RunResult> {
    const { writer, state } = this.#context;
    const { models, isDry, follow } = this.#run;
    const point = await this.#retry(() => this.#firstSyncs());
    if (models !== undefined) await importModels(this.#context, models.url, models.keys);
    const { compared, differences }: Compared = isDry
      ? { compared: 0, differences: [] }
      : await this.#retry(() => compareAll(this.#context, point));
    for (const difference of differences) this.#events.difference(difference);
    clearInterval(this.#progressTimer);
    if (follow !== undefined) {
      this.#events.complete(writer.counts.get('message')?.read ?? 0);
      await this.#follow(point, follow);
    } else await state.writeFollowed(null);
    return { counts: writer.counts, compared, differences: differences.length };
  }

  /** Compares everything, in a dry run whose writer adds records to `found`. */
  async verify(found: DifferingRecords, settleMillis: number): Promise<RunResult> {
    const { source, state, writer, readPoint } = this.#context;
    this.#events.begin(await readSchema(source), 'verify');
    const { followed } = await state.read();
    const point = await readPoint();
    await syncAll(this.#context, { start: point, isForced: false }, undefined);
    await syncDeletions(this.#context, point, this.#changed);
    const verified = await settle(this.#context, found, followed === undefined ? 0 : settleMillis);
    return { counts: writer.counts, compared: 0, differences: 0, verified };
  }

  async pollIfDue(): Promise<void> {
    await this.#follower?.pollIfDue();
  }

  async #firstSyncs(): Promise<SourcePoint> {
    const { source, state, writer, readPoint } = this.#context;
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
      await countOrphans(this.#context);
      await this.#complete(since);
      if (this.#run.isDry) return since;
      const time = since.time * 1000;
      if (follow !== undefined) await state.writeFollowed({ messages: since, messages_at: time, others_at: time });
    } else if (follow !== undefined) {
      // A sync takes minutes: what readers wait for comes first, and again and again while it runs.
      const points = { messages: followed?.messages ?? complete, complete };
      this.#follower ??= new Follower(this.#context, points, follow, this.#events.lag);
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
    await this.#changed.addFound(findChanged(this.#context, since, start));
    await addPending(this.#context, this.#changed);
    const pending = await state.listPending('message');
    await this.#changed.addFound(findMessages(source, since, start, pending));
    await reconcileAll(this.#context, this.#changed);
    const open = await findOpen(source, pending);
    const final = pending.filter((id) => !open.has(id));
    await state.endPending('message', final);
    await this.#complete(start);
    return start;
  }

  async #complete(start: SourcePoint): Promise<void> {
    await syncDeletions(this.#context, start, this.#changed);
    await this.#context.state.complete(start);
  }

  /** Polls until the run is stopped, with a complete sync every hour. */
  async #follow(first: SourcePoint, seconds: number): Promise<void> {
    const { signal } = this.#context;
    let complete = first;
    const points = { messages: first, complete };
    const follower = (this.#follower ??= new Follower(this.#context, points, seconds, this.#events.lag));
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
