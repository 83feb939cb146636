import type { RunContext } from '../run-context.ts';
import { noId, type SourcePoint } from '../source.ts';
import {
  type ComparedKind,
  comparedTable,
  kindsOf,
  readTables,
  type Slice,
  type TableStatus,
  treatmentOf,
} from '../tables.ts';
import { changedSince } from './changed.ts';

/**
 * Finds rows that were deleted in the source: the ids of a table are read in slices, in their order, and compared with the
 * listed ids of the same range.
 */

/** Ids of a table that one statement compares. */
const sliceIds = 10_000;

/** Compares all tables. When the next slice is requested, the last one was applied. */
export async function* findDeleted(context: RunContext, point: SourcePoint): AsyncGenerator<Slice> {
  const status = await readTables(context.source, point);
  for (const kind of kindsOf(context)) {
    const current = await beginComparison(context, kind, status.get(kind)?.file ?? '');
    if (current === undefined) continue;
    for (let slice: Slice | undefined; slice === undefined || slice.last !== undefined; ) {
      await context.checkpoint();
      slice = await compareSlice(context, kind, { ...current, after: slice?.last ?? '' });
      yield slice;
    }
  }
}

type Comparison = { after: string; isKept: boolean; file: string };

async function beginComparison(context: RunContext, kind: ComparedKind, file: string): Promise<Comparison | undefined> {
  const treatment = await treatmentOf(context, kind, file);
  return treatment === undefined ? undefined : { after: '', isKept: treatment === 'keep', file };
}

async function compareSlice(
  { source, state }: RunContext,
  kind: ComparedKind,
  { after, isKept, file }: Comparison,
  changes?: { since: SourcePoint; now: SourcePoint },
): Promise<Slice> {
  const table = comparedTable(kind);
  const isFeedback = kind === 'feedback';
  const isChanged = changes === undefined ? 'false' : changedSince(source, table, 'r', changes.since, changes.now);
  const id = isFeedback ? 'r.message_id' : 'r.id';
  const [row] = await source.query<{ ids: string | null; changed: string | null }>(
    `SELECT string_agg(id::text, ',' ORDER BY id) AS ids, string_agg(id::text, ',') FILTER (WHERE changed) AS changed
     FROM (SELECT ${isFeedback ? 'DISTINCT' : ''} ${id} AS id, ${isChanged} AS changed FROM ${table} r
           WHERE ${id} > $1::uuid AND ${isFeedback ? "r.from_source = 'user'" : 'true'} ORDER BY 1 LIMIT ${sliceIds}) slice`,
    [after === '' ? noId : after],
  );
  const ids = row?.ids?.split(',') ?? [];
  const last = ids.length === sliceIds ? ids.at(-1) : undefined;
  const present = new Set(ids);
  const missing: string[] = [];
  for (let from: string | undefined = after; from !== undefined; ) {
    const listed: string[] = await state.listIds(kind, from, sliceIds);
    const inRange = last === undefined ? listed : listed.filter((one) => one <= last);
    for (const one of inRange) if (!present.has(one)) missing.push(one);
    from = inRange.length === sliceIds ? inRange.at(-1) : undefined;
  }
  return { kind, missing, changed: row?.changed?.split(',') ?? [], isKept, last, file };
}

/** How long the comparison of a table takes, and the pause before the next one. */
const comparisonSeconds = 20;

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

/** Whether rows change without anything that polls look at. */
const changesAlone = (kind: ComparedKind): boolean => kind === 'segment' || kind === 'child_chunk';

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

  get covered(): number {
    return Math.min(...this.#tables.map(({ covered }) => covered));
  }

  async *poll(point: SourcePoint, now: number): AsyncGenerator<Slice> {
    const status = await readTables(this.#context.source, point);
    for (const table of this.#tables) await this.#begin(table, status.get(table.kind), point, now);
    const running = this.#tables.filter(({ current }) => current !== undefined);
    const rows = running.reduce((sum, { kind }) => sum + Math.max(0, status.get(kind)?.rows ?? 0), 0);
    const all = running.length + rows / sliceIds;
    const share = (now - this.#polled) / (comparisonSeconds * 1000);
    this.#polled = now;
    for (let left = Math.max(1, Math.ceil(all * share)); left > 0; left -= 1) {
      await this.#context.checkpoint();
      const table = running.find(({ current }) => current !== undefined);
      if (table?.current === undefined) return;
      const { kind, current, since, begun } = table;
      const slice = await compareSlice(
        this.#context,
        kind,
        current,
        changesAlone(kind) ? { since, now: point } : undefined,
      );
      if (slice.last === undefined) Object.assign(table, { current: undefined, covered: begun });
      else current.after = slice.last;
      yield slice;
    }
  }

  async #begin(table: TableState, status: TableStatus | undefined, point: SourcePoint, now: number): Promise<void> {
    if (table.current !== undefined || status === undefined) return;
    const counter = changesAlone(table.kind) ? status.written : status.deleted;
    if (counter !== null && counter === table.counter) {
      table.covered = now;
      return;
    }
    const slices = Math.ceil(status.rows / sliceIds);
    const pauseSeconds = Math.min(comparisonSeconds, Math.max(1, slices));
    if (now - table.begun < pauseSeconds * 1000) return;
    const current = await beginComparison(this.#context, table.kind, status.file);
    if (current === undefined) return;
    Object.assign(table, { current, begun: now, since: table.point, point, counter: counter ?? undefined });
  }

  /** After a poll that failed: what it had found may not have been imported. */
  reset(): void {
    for (const table of this.#tables)
      Object.assign(table, { current: undefined, counter: undefined, begun: 0, point: table.since });
  }
}
