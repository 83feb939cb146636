import { importConfiguration } from './configuration.ts';
import { readIsStandby } from './connection.ts';
import { Deletions } from './find/deleted.ts';
import { findMessages, findOthers, readConfigurationFingerprint } from './find/recent.ts';
import { addSlice } from './gone.ts';
import { IdSets } from './id-set.ts';
import { addPending, reconcileAll } from './reconcile.ts';
import type { RunContext } from './run-context.ts';
import { isComparable, type SourcePoint } from './source.ts';
import { endComparison, type Slice } from './tables.ts';

/** The least time between two writes of the progress, if nothing else was written. */
const followWriteMillis = 10_000;
/** How long an object that does not exist in the source is in doubt. */
const doubtMillisMax = 600_000;
/** On a standby of the source: how long an object is in doubt at least, since its row may be an old one. */
const standbyDoubtMillis = 10_000;
const minuteMillis = 60_000;

/** Seconds: what was committed in the source longer ago is stored, messages and everything else. */
export type Lag = { messages: number; others: number };
type ReportLag = (lag: Lag, written: number) => void;

/** Looks for changes of a source that were found neither by the last complete sync nor by an earlier poll. */
export class Follower {
  readonly #context: RunContext;
  readonly #intervalMillis: number;
  readonly #report: ReportLag;
  readonly #changed = new IdSets();
  readonly #deletions: Deletions;
  #messages: SourcePoint;
  #others: SourcePoint;
  #fingerprint = '';
  /** When the last polls began, in milliseconds. */
  #polledAt: number;
  #othersAt: number;
  #othersDue = 0;
  #wroteAt = 0;
  #isPolling = false;

  /** All messages that were committed before `messages` are stored, and everything that was before `complete`. */
  constructor(
    context: RunContext,
    points: { messages: SourcePoint; complete: SourcePoint },
    seconds: number,
    report: ReportLag,
  ) {
    // Polls within a sync do not change what is shown about the sync.
    this.#context = { ...context, progress: { phase: '', done: 0, total: undefined } };
    this.#messages = points.messages;
    this.#others = points.complete;
    this.#intervalMillis = seconds * 1000;
    this.#report = report;
    const now = context.clock();
    this.#deletions = new Deletions(this.#context, points.complete, now);
    [this.#polledAt, this.#othersAt] = [now, points.complete.time * 1000];
  }

  /** A complete sync that began at this point has found everything. */
  completed(point: SourcePoint): void {
    this.#others = point;
    this.#othersAt = point.time * 1000;
  }

  /** Polls while a sync runs, if it is time and no other poll is running. */
  async pollIfDue(): Promise<void> {
    if (this.#isPolling || this.#context.clock() < this.#polledAt + this.#intervalMillis) return;
    await this.poll('within a sync');
  }

  /**
   * Returns false if another server responds, whose transactions cannot be compared: then a complete sync must be made.
   * `messages`: only what readers wait for. Otherwise also what is looked for at most once a minute, and deletions.
   */
  async poll(what: 'messages' | 'within a sync' | 'all'): Promise<boolean> {
    this.#isPolling = true;
    try {
      return await this.#poll(what, this.#context.clock());
    } catch (error) {
      this.#deletions.reset();
      throw error;
    } finally {
      this.#isPolling = false;
    }
  }

  close(): void {
    this.#changed.close();
  }

  async #poll(what: 'messages' | 'within a sync' | 'all', now: number): Promise<boolean> {
    const { source, writer, readPoint } = this.#context;
    const before = writer.written;
    const point = await readPoint();
    const canCompare = isComparable(this.#others, point);
    if (what === 'all' && !canCompare) return false;
    const withOthers = what !== 'messages' && canCompare;
    const fingerprint = await readConfigurationFingerprint(source);
    if (fingerprint !== this.#fingerprint) await importConfiguration(this.#context, this.#changed);
    this.#fingerprint = fingerprint;
    const isMinutely = withOthers && now >= this.#othersDue;
    if (isMinutely) await this.#changed.addFound(findOthers(source, this.#others, point));
    // A poll within a sync leaves what is pending, because it must not do the work of the sync.
    if (what === 'all') await addPending(this.#context, this.#changed);
    const ended = withOthers ? await this.#findDeleted(point, now) : [];
    await this.#reconcile(point);
    for (const { kind, file } of ended) await endComparison(this.#context, kind, file);
    this.#messages = point;
    if (isMinutely) {
      this.#others = point;
      this.#othersAt = now;
      this.#othersDue = now + minuteMillis;
    }
    await this.#end(now, writer.written - before);
    return true;
  }

  /** Returns the slices that end a table. */
  async #findDeleted(point: SourcePoint, now: number): Promise<Slice[]> {
    const ended: Slice[] = [];
    for await (const slice of this.#deletions.poll(point, now)) {
      await addSlice(this.#context, slice, this.#changed);
      if (slice.last === undefined) ended.push(slice);
    }
    return ended;
  }

  /** Reconciles what was found, with new messages and what is in doubt. */
  async #reconcile(point: SourcePoint): Promise<void> {
    const { source, state, clock } = this.#context;
    const doubts = await state.listDoubts();
    for (const { kind, id, conversation_id } of doubts) {
      if (kind !== 'app') this.#changed.add(kind, [id]);
      if (conversation_id !== '') this.#changed.add('conversation', [conversation_id]);
    }
    const isStandby = doubts.length > 0 && (await readIsStandby(source));
    // The ends of messages in doubt were seen: on the primary they are finished, also if they are empty.
    const finished = new Set(isStandby ? [] : doubts.map(({ id }) => id));
    const pending = await state.listPending('message');
    await this.#changed.addFound(findMessages(source, this.#messages, point, pending));
    const unstored = await reconcileAll({ ...this.#context, finished }, this.#changed);
    const ended = doubts.filter(({ id, at }) => {
      if (unstored.has(id)) return clock() >= at + doubtMillisMax;
      return !isStandby || clock() >= at + standbyDoubtMillis;
    });
    await state.endDoubts(ended);
  }

  async #end(begun: number, written: number): Promise<void> {
    const others = Math.min(this.#othersAt, this.#deletions.covered);
    const now = this.#context.clock();
    // Until the next poll ends, what came after the start of the last one may be missing.
    const lag = { messages: (now - this.#polledAt) / 1000, others: (now - others) / 1000 };
    this.#polledAt = begun;
    this.#report(lag, written);
    if (written === 0 && now < this.#wroteAt + followWriteMillis) return;
    this.#wroteAt = now;
    await this.#context.state.writeFollowed({ messages: this.#messages, messages_at: begun, others_at: others });
  }
}
