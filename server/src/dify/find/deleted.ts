import { limits } from '../../contract/limits.ts';
import { clusterOf, type SourcePoint } from '../point.ts';
import { epoch } from '../rows/selection.ts';
import type { RunContext } from '../run-context.ts';
import { noId, type Target, tableOf } from '../source.ts';
import { changedSince } from './changed.ts';

/**
 * Finds rows that were deleted in the source: the ids of a table are read in slices, in their order, and compared with the
 * listed ids of the same range.
 */

/** `feedback` is listed by message. */
export type ComparedKind = Exclude<Target, 'message'> | 'feedback';

const comparedKinds: readonly ComparedKind[] = ['conversation', 'feedback', 'document', 'segment', 'child_chunk'];

export const comparedTable = (kind: ComparedKind): string =>
  kind === 'feedback' ? 'message_feedbacks' : tableOf[kind];

/** Whether rows change without anything that polls look at. */
export const changesAlone = (kind: ComparedKind): boolean => kind === 'segment' || kind === 'child_chunk';

/** The kinds that a run compares. */
export const kindsOf = ({ source, options }: RunContext): ComparedKind[] =>
  comparedKinds.filter(
    (kind) =>
      source.has(comparedTable(kind)) &&
      (options.appIds === undefined || kind === 'conversation' || kind === 'feedback'),
  );

/** Statistics of a source table that cost no read of it. */
export type TableStatus = {
  /** The file with its rows: DELETE keeps it, TRUNCATE and a restore do not. */
  file: string;
  /** An estimate. */
  rows: number;
  /** Counters of the source; null if it has none, as a standby. They change at most some seconds after a commit. */
  deleted: string | null;
  written: string | null;
};

export async function readTables({ source }: RunContext, point: SourcePoint): Promise<Map<ComparedKind, TableStatus>> {
  const kinds = comparedKinds.filter((kind) => source.has(comparedTable(kind)));
  const rows = await source.query<TableStatus & { nth: number }>(
    `SELECT n.nth::int4 AS nth, pg_relation_filenode(c.oid)::text AS file, c.reltuples::float8 AS rows,
       CASE WHEN k.is_counting THEN pg_stat_get_tuples_deleted(c.oid)::text END AS deleted,
       CASE WHEN k.is_counting THEN concat_ws(' ', pg_stat_get_tuples_inserted(c.oid), pg_stat_get_tuples_updated(c.oid),
         pg_stat_get_tuples_deleted(c.oid)) END AS written
     FROM unnest($1::text[]) WITH ORDINALITY AS n (name, nth) JOIN pg_class c ON c.oid = to_regclass(n.name)
     CROSS JOIN (SELECT NOT pg_is_in_recovery() AND current_setting('track_counts')::bool AS is_counting) k`,
    [kinds.map(comparedTable)],
  );
  const cluster = clusterOf(point);
  return new Map(
    rows.map(({ nth, ...status }) => [
      kinds[nth - 1] as ComparedKind,
      { ...status, file: `${cluster} ${status.file}` },
    ]),
  );
}

/**
 * What is done with ids that are missing. If the table has another file than before, it may have been truncated, or restored
 * from a backup: then no user has deleted what is missing. While it is empty, nothing is compared; and if the newest message
 * is older than the newest one of the last comparison, the source is an older copy, and what is missing is kept.
 */
export type Treatment = 'delete' | 'keep';

export async function treatmentOf(
  { source, state, warn }: RunContext,
  kind: ComparedKind,
  file: string,
): Promise<Treatment | undefined> {
  const table = comparedTable(kind);
  const known = await state.readTable(table);
  if (known === undefined || known.file === file) return 'delete';
  const [row] = await source.query<{ is_empty: boolean }>(`SELECT NOT EXISTS (SELECT FROM ${table}) AS is_empty`, []);
  if (row?.is_empty !== false) {
    warn(`the table ${table} of the source was replaced and is empty: what was imported from it is kept`);
    return undefined;
  }
  if ((await readNewest(source)) >= known.newest) return 'delete';
  warn(`the source is older than what was imported: records that are missing in ${table} are kept`);
  return 'keep';
}

export async function readNewest(source: RunContext['source']): Promise<number> {
  const [row] = await source.query<{ newest: number | null }>(
    `SELECT ${epoch('max(created_at)')} AS newest FROM messages`,
    [],
  );
  return row?.newest ?? 0;
}

/** `missing` are listed and not in the source. `changed` were written since a point. `last` is undefined after the last slice. */
export type Slice = { missing: string[]; changed: string[]; last: string | undefined };

/** Compares a slice of ids after `after`. */
export async function compareSlice(
  { source, state }: RunContext,
  kind: ComparedKind,
  after: string,
  changes?: { since: SourcePoint; now: SourcePoint },
): Promise<Slice> {
  const table = comparedTable(kind);
  const limit = limits.comparedIdsMax;
  const isFeedback = kind === 'feedback';
  const isChanged = changes === undefined ? 'false' : changedSince(source, table, 'r', changes.since, changes.now);
  const id = isFeedback ? 'r.message_id' : 'r.id';
  const [row] = await source.query<{ ids: string | null; changed: string | null }>(
    `SELECT string_agg(id::text, ',' ORDER BY id) AS ids, string_agg(id::text, ',') FILTER (WHERE changed) AS changed
     FROM (SELECT ${isFeedback ? 'DISTINCT' : ''} ${id} AS id, ${isChanged} AS changed FROM ${table} r
           WHERE ${id} > $1::uuid AND ${isFeedback ? "r.from_source = 'user'" : 'true'} ORDER BY 1 LIMIT ${limit}) slice`,
    [after === '' ? noId : after],
  );
  const ids = row?.ids?.split(',') ?? [];
  const last = ids.length === limit ? ids.at(-1) : undefined;
  const present = new Set(ids);
  const missing: string[] = [];
  for (let from: string | undefined = after; from !== undefined; ) {
    const listed: string[] = await state.listIds(kind, from, limit);
    const inRange = last === undefined ? listed : listed.filter((one) => one <= last);
    for (const one of inRange) if (!present.has(one)) missing.push(one);
    from = inRange.length === limit ? inRange.at(-1) : undefined;
  }
  return { missing, changed: row?.changed?.split(',') ?? [], last };
}
