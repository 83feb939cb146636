import { limits } from '../contract/limits.ts';
import {
  type ComparedKind,
  changesAlone,
  comparedTable,
  compareSlice,
  kindsOf,
  readNewest,
  readTables,
  type Slice,
  type TableStatus,
  type Treatment,
  treatmentOf,
} from './find/deleted.ts';
import { reconcileGone } from './gone.ts';
import type { IdSets } from './id-set.ts';
import type { SourcePoint } from './point.ts';
import { reconcileMessages } from './reconcile.ts';
import type { RunContext } from './run-context.ts';

/** Compares all tables. */
export async function applyDeletions(context: RunContext, point: SourcePoint): Promise<void> {
  const status = await readTables(context, point);
  for (const kind of kindsOf(context)) {
    const { file } = status.get(kind) ?? { file: '' };
    const treatment = await treatmentOf(context, kind, file);
    if (treatment === undefined) continue;
    for (let after: string | undefined = ''; after !== undefined; ) {
      await context.checkpoint();
      after = (await applySlice(context, kind, after, treatment)).last;
    }
    await endComparison(context, kind, file);
  }
}

/** Compares a slice of ids after `after`, and applies what is missing. */
async function applySlice(
  context: RunContext,
  kind: ComparedKind,
  after: string,
  treatment: Treatment,
  changes?: { since: SourcePoint; now: SourcePoint },
): Promise<Slice> {
  const slice = await compareSlice(context, kind, after, changes);
  const { missing } = slice;
  if (missing.length === 0) return slice;
  if (treatment === 'keep') {
    context.report.count(`${comparedTable(kind)} missing in an older copy of the source, and kept`, missing.length);
    await context.state.removeIds(kind, missing);
  } else if (kind === 'feedback') await reconcileMessages(context, missing);
  else await reconcileGone(context, kind, missing);
  return slice;
}

async function endComparison({ source, state }: RunContext, kind: ComparedKind, file: string): Promise<void> {
  const table = comparedTable(kind);
  const known = await state.readTable(table);
  const newest = await readNewest(source);
  if (known?.file !== file || known.newest !== newest) await state.writeTable(table, { file, newest });
}

/** How long the comparison of a table takes, and the pause before the next one. */
const comparisonSeconds = 20;

/** A comparison that is not complete. */
type Comparison = { after: string; treatment: Treatment; file: string };

type TableState = {
  kind: ComparedKind;
  current: Comparison | undefined;
  /** The source's counter when the last comparison began. */
  counter: string | undefined;
  /** When the last comparison began, in milliseconds, and the point at that time. */
  begun: number;
  point: SourcePoint;
  /** The last comparison finds rows that have changed since then. */
  since: SourcePoint;
  /** Every commit before this time, in milliseconds, has been found. */
  covered: number;
};

/**
 * Compares the tables of a source again and again, some slices with each poll, while it is followed. A table is compared if
 * the source's counters say that rows were deleted from it, or if there are no counters.
 */
export class Deletions {
  readonly #context: RunContext;
  readonly #tables: TableState[];
  #polled: number;

  /** All changes before `point` are known. */
  constructor(context: RunContext, point: SourcePoint, now: number) {
    this.#context = context;
    this.#polled = now;
    const state = { current: undefined, counter: undefined, begun: 0, point, since: point, covered: now };
    this.#tables = kindsOf(context).map((kind) => ({ kind, ...state }));
  }

  /** Every commit before this time, in milliseconds, has been found. */
  get covered(): number {
    return Math.min(...this.#tables.map(({ covered }) => covered));
  }

  /** Applies deletions, and adds changed rows to `changed`. */
  async poll(point: SourcePoint, changed: IdSets, now: number): Promise<void> {
    const status = await readTables(this.#context, point);
    for (const table of this.#tables) await this.#begin(table, status.get(table.kind), point, now);
    const running = this.#tables.filter(({ current }) => current !== undefined);
    const rows = running.reduce((sum, { kind }) => sum + Math.max(0, status.get(kind)?.rows ?? 0), 0);
    const all = running.length + rows / limits.comparedIdsMax;
    const share = (now - this.#polled) / (comparisonSeconds * 1000);
    this.#polled = now;
    for (let left = Math.max(1, Math.ceil(all * share)); left > 0; left -= 1) {
      await this.#context.checkpoint();
      const table = running.find(({ current }) => current !== undefined);
      if (table?.current === undefined) return;
      await this.#compareNext(table, table.current, point, changed);
    }
  }

  async #begin(table: TableState, status: TableStatus | undefined, point: SourcePoint, now: number): Promise<void> {
    if (table.current !== undefined || status === undefined) return;
    const counter = changesAlone(table.kind) ? status.written : status.deleted;
    if (counter !== null && counter === table.counter) {
      table.covered = now;
      return;
    }
    const slices = Math.ceil(status.rows / limits.comparedIdsMax);
    const pauseSeconds = Math.min(comparisonSeconds, Math.max(1, slices));
    if (now - table.begun < pauseSeconds * 1000) return;
    const treatment = await treatmentOf(this.#context, table.kind, status.file);
    if (treatment === undefined) return;
    table.current = { after: '', treatment, file: status.file };
    Object.assign(table, { begun: now, since: table.point, point, counter: counter ?? undefined });
  }

  /** After a poll that failed: what it had found may not have been imported. */
  reset(): void {
    for (const table of this.#tables)
      Object.assign(table, { current: undefined, counter: undefined, begun: 0, point: table.since });
  }

  async #compareNext(table: TableState, current: Comparison, now: SourcePoint, changed: IdSets): Promise<void> {
    const { kind, since, begun } = table;
    const { after, treatment, file } = current;
    const changes = changesAlone(kind) ? { since, now } : undefined;
    const slice = await applySlice(this.#context, kind, after, treatment, changes);
    if (kind !== 'feedback') changed.add(kind, slice.changed);
    if (slice.last !== undefined) {
      current.after = slice.last;
      return;
    }
    await endComparison(this.#context, kind, file);
    table.current = undefined;
    table.covered = begun;
  }
}
