import type { RunContext } from './run-context.ts';
import { type DifySource, epoch, type Reading, type SourcePoint, type Target, tableOf } from './source.ts';

/** Kinds whose ids are compared with those of the source. `feedback` is listed by message. */
export type ComparedKind = Exclude<Target, 'message'> | 'feedback';

const comparedKinds: readonly ComparedKind[] = ['conversation', 'feedback', 'document', 'segment', 'child_chunk'];

export const comparedTable = (kind: ComparedKind): string =>
  kind === 'feedback' ? 'message_feedbacks' : tableOf[kind];

/**
 * A part of a comparison. `missing` are listed and not in the source; they are kept if it is an older copy. `changed` were written
 * since a point. `last` is undefined at the end of the table, whose file is `file`.
 */
export type Slice = {
  kind: ComparedKind;
  missing: string[];
  changed: string[];
  isKept: boolean;
  last: string | undefined;
  file: string;
};

export const kindsOf = ({ source, options }: Pick<Reading, 'source' | 'options'>): ComparedKind[] =>
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

export async function readTables(source: DifySource, { server }: SourcePoint): Promise<Map<ComparedKind, TableStatus>> {
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
  // The server itself, also after a failover to a copy of it.
  const cluster = server.replace(/\/.*/, '');
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
  { source, state, warn }: Pick<RunContext, 'source' | 'state' | 'warn'>,
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

async function readNewest(source: DifySource): Promise<number> {
  const [row] = await source.query<{ newest: number | null }>(
    `SELECT ${epoch('max(created_at)')} AS newest FROM messages`,
    [],
  );
  return row?.newest ?? 0;
}

/** Its file is known from now on: everything that is missing was applied. */
export async function endComparison(
  { source, state }: Pick<RunContext, 'source' | 'state'>,
  kind: ComparedKind,
  file: string,
): Promise<void> {
  const table = comparedTable(kind);
  const known = await state.readTable(table);
  const newest = await readNewest(source);
  if (known?.file !== file || known.newest !== newest) await state.writeTable(table, { file, newest });
}
