import { limits } from '../contract/limits.ts';
import type { StoredRecord } from '../domain/store/import-sources.ts';
import type { IdSets } from './id-set.ts';
import { clusterOf, type SourcePoint } from './point.ts';
import { epoch } from './rows/selection.ts';
import type { RunContext } from './run-context.ts';
import { changedSince, noId } from './scan.ts';
import { existingIds, isOneOf, queryIds } from './source.ts';
import { importMessages, ratedList } from './sync.ts';
import { deletedList } from './writer.ts';

/**
 * Finds rows that were deleted in the source: the ids of a table are read in slices, in their order, and compared with the
 * listed ids of the same range. Nothing is purged.
 */

type RecordTable = {
  table: string;
  kind: 'conversation' | 'document' | 'segment' | 'child_chunk';
  /** The change applied to a record that is gone from the source. */
  gone: Readonly<Record<string, unknown>>;
  /** Whether its rows change without anything that polls look at. */
  changesAlone: boolean;
};
export type ComparedTable = RecordTable | { table: 'message_feedbacks'; kind: 'feedback'; changesAlone: false };

/** Datasets cannot be marked: no knowledge key reaches one that is gone. */
const comparedTables: readonly ComparedTable[] = [
  { table: 'conversations', kind: 'conversation', gone: { deleted: true }, changesAlone: false },
  { table: 'message_feedbacks', kind: 'feedback', changesAlone: false },
  { table: 'documents', kind: 'document', gone: { enabled: false, archived: true }, changesAlone: false },
  { table: 'document_segments', kind: 'segment', gone: { enabled: false }, changesAlone: true },
  { table: 'child_chunks', kind: 'child_chunk', gone: { deleted: true }, changesAlone: true },
];

/** The tables that a run reads. */
export const tablesOf = ({ source, options }: RunContext): ComparedTable[] =>
  comparedTables.filter(
    ({ table, kind }) =>
      source.has(table) && (options.appIds === undefined || kind === 'conversation' || kind === 'feedback'),
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

export async function readTables(
  { source }: RunContext,
  point: SourcePoint,
  tables: readonly ComparedTable[],
): Promise<Map<string, TableStatus>> {
  const rows = await source.query<TableStatus & { name: string }>(
    `SELECT n.name, pg_relation_filenode(c.oid)::text AS file, c.reltuples::float8 AS rows,
       CASE WHEN k.is_counting THEN pg_stat_get_tuples_deleted(c.oid)::text END AS deleted,
       CASE WHEN k.is_counting THEN concat_ws(' ', pg_stat_get_tuples_inserted(c.oid), pg_stat_get_tuples_updated(c.oid),
         pg_stat_get_tuples_deleted(c.oid)) END AS written
     FROM unnest($1::text[]) AS n (name) JOIN pg_class c ON c.oid = to_regclass(n.name)
     CROSS JOIN (SELECT NOT pg_is_in_recovery() AND current_setting('track_counts')::bool AS is_counting) k`,
    [tables.map(({ table }) => table)],
  );
  const cluster = clusterOf(point);
  return new Map(rows.map(({ name, ...status }) => [name, { ...status, file: `${cluster} ${status.file}` }]));
}

/**
 * What is done with ids that are missing. If the table has another file than before, it may have been truncated, or restored
 * from a backup: then no user has deleted what is missing. While it is empty, nothing is compared; and if the newest message
 * is older than the newest one of the last comparison, the source is an older copy, and what is missing is kept.
 */
export type Treatment = 'delete' | 'keep';

export async function treatmentOf(
  { source, state, warn }: RunContext,
  { table }: ComparedTable,
  file: string,
): Promise<Treatment | undefined> {
  const known = (await state.readValues('table')).get(table);
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

async function readNewest(source: RunContext['source']): Promise<number> {
  const [row] = await source.query<{ newest: number | null }>(
    `SELECT ${epoch('max(created_at)')} AS newest FROM messages`,
    [],
  );
  return row?.newest ?? 0;
}

/** Compares all tables. */
export async function applyDeletions(context: RunContext, point: SourcePoint): Promise<void> {
  const tables = tablesOf(context);
  const status = await readTables(context, point, tables);
  for (const compared of tables) {
    const { file } = status.get(compared.table) ?? { file: '' };
    const treatment = await treatmentOf(context, compared, file);
    if (treatment === undefined) continue;
    for (let after: string | undefined = ''; after !== undefined; ) {
      await context.checkpoint();
      after = await compareSlice(context, compared, after, treatment);
    }
    await endComparison(context, compared, file);
  }
}

export async function endComparison(
  { source, state }: RunContext,
  { table }: ComparedTable,
  file: string,
): Promise<void> {
  const known = (await state.readValues('table')).get(table);
  const newest = await readNewest(source);
  if (known?.file !== file || known.newest !== newest)
    await state.writeValues('table', new Map([[table, { file, newest }]]));
}

/** Rows that changed since a point are added to `changed`. */
type Changes = { since: SourcePoint; now: SourcePoint; changed: IdSets };

/** Compares a slice of ids after `after`. Returns the last one, or undefined if it was the last slice. */
export async function compareSlice(
  context: RunContext,
  compared: ComparedTable,
  after: string,
  treatment: Treatment,
  changes?: Changes,
): Promise<string | undefined> {
  const { source, state } = context;
  const { table, kind } = compared;
  const limit = limits.comparedIdsMax;
  const [id, isListed] = kind === 'feedback' ? ['DISTINCT r.message_id', isOfUser] : ['r.id', 'true'];
  const isChanged = changes === undefined ? 'false' : changedSince(source, table, 'r', changes.since, changes.now);
  const [row] = await source.query<{ ids: string | null; changed: string | null }>(
    `SELECT string_agg(id::text, ',' ORDER BY id) AS ids, string_agg(id::text, ',') FILTER (WHERE changed) AS changed
     FROM (SELECT ${id} AS id, ${isChanged} AS changed FROM ${table} r
           WHERE ${idColumn(kind)} > $1::uuid AND ${isListed} ORDER BY 1 LIMIT ${limit}) slice`,
    [after === '' ? noId : after],
  );
  if (kind !== 'feedback') changes?.changed.add(kind, row?.changed?.split(',') ?? []);
  const ids = row?.ids?.split(',') ?? [];
  const last = ids.length === limit ? ids.at(-1) : undefined;
  const present = new Set(ids);
  for (let from: string | undefined = after; from !== undefined; ) {
    const listed: string[] = await state.listIds(listOf(kind), from, limit);
    const inRange = last === undefined ? listed : listed.filter((one) => one <= last);
    const missing = inRange.filter((one) => !present.has(one));
    if (missing.length > 0) await applyMissing(context, compared, missing, treatment);
    from = inRange.length === limit ? inRange.at(-1) : undefined;
  }
  return last;
}

const isOfUser = "r.from_source = 'user'";
const idColumn = (kind: ComparedTable['kind']): string => (kind === 'feedback' ? 'r.message_id' : 'r.id');
const listOf = (kind: ComparedTable['kind']): string => (kind === 'feedback' ? ratedList : kind);

/** Marks records that may be gone from the source. */
export async function applyGone(context: RunContext, kind: RecordTable['kind'], ids: readonly string[]): Promise<void> {
  const compared = comparedTables.find((one) => one.kind === kind);
  if (compared !== undefined && ids.length > 0) await applyMissing(context, compared, ids, 'delete');
}

async function applyMissing(
  context: RunContext,
  compared: ComparedTable,
  missing: readonly string[],
  treatment: Treatment,
): Promise<void> {
  const { source, state, report } = context;
  const { table, kind } = compared;
  const isListed = kind === 'feedback' ? isOfUser : 'true';
  // Another import may have listed a row that was written after the slice was read.
  const find = `SELECT ${idColumn(kind)} AS id FROM ${table} r WHERE ${idColumn(kind)} = ANY($1::uuid[]) AND ${isListed}`;
  const present = new Set(await queryIds(source, find, [missing]));
  const gone = missing.filter((id) => !present.has(id));
  if (treatment === 'keep') {
    report.count(`${table} missing in an older copy of the source, and kept`, gone.length);
    await state.removeIds(listOf(kind), gone);
  } else if (compared.kind === 'feedback') await withdraw(context, gone);
  else await markGone(context, compared, await findSelected(context, compared.kind, gone));
}

/** Feedback that was withdrawn: the messages are read again, without it. Messages that are gone keep theirs. */
async function withdraw(context: RunContext, ids: readonly string[]): Promise<void> {
  const { source, state, report } = context;
  const present = await existingIds(source, 'messages', ids);
  const unrated = present.size === 0 ? [] : await importMessages(context, [...present], undefined);
  if (unrated.length > 0) report.count('ratings withdrawn in the source', unrated.length);
  await state.removeIds(ratedList, [...unrated, ...ids.filter((id) => !present.has(id))]);
}

/** A record that was deleted in Backscroll, or that is not stored any more, is only removed from the list. */
async function markGone(context: RunContext, { table, kind, gone }: RecordTable, ids: readonly string[]) {
  const { store, state, writer, report } = context;
  const stored = (await store?.imports.findRecords(kind, ids)) ?? new Map<string, StoredRecord>();
  const unmarked = [...stored.values()].filter((record) =>
    Object.entries(gone).some(([name, value]) => record[name] !== value),
  );
  if (unmarked.length > 0) {
    report.count(`${table} gone from the source`, unmarked.length);
    const marked = unmarked.map(({ id }) => id);
    if ('deleted' in gone) await state.addIds(deletedList(kind), marked);
    for (const record of unmarked) await writer.add({ ...record, ...gone, record: kind });
    await writer.flush();
  }
  await state.removeIds(kind, ids);
}

/** The records of these that belong to what this run reads. Their rows are gone, so the stored parents decide. */
async function findSelected(
  { store, options: { workspaceIds, appIds } }: RunContext,
  kind: RecordTable['kind'],
  ids: readonly string[],
): Promise<readonly string[]> {
  if (store === undefined || (workspaceIds === undefined && appIds === undefined)) return ids;
  const targets = await store.lookup(kind, ids);
  const ownerOf = (id: string): string => {
    const target = targets.get(id);
    return (kind === 'conversation' ? target?.parent : target?.scope) ?? '';
  };
  const owners = await store.lookup(kind === 'conversation' ? 'app' : 'dataset', [...new Set(ids.map(ownerOf))]);
  return ids.filter((id) => {
    const owner = ownerOf(id);
    const isOfApp = kind !== 'conversation' || isOneOf(owner, appIds);
    return isOfApp && isOneOf(owners.get(owner)?.parent ?? '', workspaceIds);
  });
}
