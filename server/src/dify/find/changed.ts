import { begin, type RunContext } from '../run-context.ts';
import { type DifySource, isComparable, type Keys, noId, type SourcePoint, type Target } from '../source.ts';

type Scan = {
  table: string;
  /** What is read again when a row has changed. */
  target: Target;
  /** The id of the target, for a row `r`. */
  of: string;
};

const ofForm = '(SELECT e.message_id FROM execution_extra_contents e WHERE e.form_id = r.id LIMIT 1)';

/** Parents before children. The parts of a message are in tables of their own. */
export const scans: readonly Scan[] = [
  { table: 'conversations', target: 'conversation', of: 'r.id' },
  { table: 'messages', target: 'message', of: 'r.id' },
  { table: 'message_files', target: 'message', of: 'r.message_id' },
  { table: 'message_feedbacks', target: 'message', of: 'r.message_id' },
  { table: 'message_agent_thoughts', target: 'message', of: 'r.message_id' },
  { table: 'execution_extra_contents', target: 'message', of: 'r.message_id' },
  { table: 'human_input_forms', target: 'message', of: ofForm },
  { table: 'documents', target: 'document', of: 'r.id' },
  { table: 'document_segments', target: 'segment', of: 'r.id' },
  { table: 'child_chunks', target: 'child_chunk', of: 'r.id' },
];

const batchRows = 5_000;
/** Rows that were committed late, or by another server, may be this many seconds older than the last sync. */
export const overlapSeconds = 600;

export const isPresent = (source: DifySource, { table }: Pick<Scan, 'table'>): boolean =>
  source.has(table) && (table !== 'human_input_forms' || source.has('execution_extra_contents'));

/**
 * A condition for rows that were written since a point: by a transaction that had not ended then or, if transactions cannot
 * be compared, by the times of the row. It contains only numbers.
 */
export function changedSince(source: DifySource, table: string, row: string, since: SourcePoint, now: SourcePoint) {
  if (isComparable(since, now)) return `age(${row}.xmin) <= age('${BigInt(since.xid) & 0xffffffffn}'::xid)`;
  const time = `to_timestamp(${since.time - overlapSeconds}) AT TIME ZONE 'UTC'`;
  const times = ['created_at', 'updated_at'].filter((column) => source.has(table, column));
  return times.length === 0 ? 'true' : `(${times.map((column) => `${row}.${column} >= ${time}`).join(' OR ')})`;
}

/** Aggregates of each batch of rows `r` of a table, in the order of its ids. */
async function* inBatches<A>(
  { source, checkpoint }: Pick<RunContext, 'source' | 'checkpoint'>,
  table: string,
  columns: string,
  aggregates: string,
  join = '',
): AsyncGenerator<A & { rows: number }> {
  for (let after: string | undefined = noId; after !== undefined; ) {
    await checkpoint();
    const [row]: (A & { last: string | null; rows: number })[] = await source.query(
      `SELECT max(batch.id::text COLLATE "C") AS last, count(*)::int4 AS rows, ${aggregates}
       FROM (SELECT r.id, ${columns} FROM ${table} r WHERE r.id > $1::uuid ORDER BY r.id LIMIT ${batchRows}) batch ${join}`,
      [after],
    );
    if (row !== undefined) yield row;
    after = row?.rows === batchRows ? (row.last ?? undefined) : undefined;
  }
}

export async function* findChanged(context: RunContext, since: SourcePoint, now: SourcePoint): AsyncGenerator<Keys> {
  const { source, progress } = context;
  begin(progress, 'comparing rows', await estimateRows(source));
  for (const { table, target, of } of scans.filter((scan) => isPresent(source, scan))) {
    const isChanged = changedSince(source, table, 'r', since, now);
    const columns = `${isChanged} AS changed, CASE WHEN ${isChanged} THEN ${of} END AS target`;
    const targets = 'array_agg(target::text) FILTER (WHERE changed) AS targets';
    for await (const batch of inBatches<{ targets: (string | null)[] | null }>(context, table, columns, targets)) {
      progress.done += batch.rows;
      yield { kind: target, ids: (batch.targets ?? []).filter((id) => id !== null) };
    }
  }
}

/** By the statistics of the source, which may have none. */
async function estimateRows(source: DifySource): Promise<number | undefined> {
  const [row] = await source.query<{ n: number | null }>(
    `SELECT sum(reltuples)::float8 AS n FROM pg_class WHERE reltuples > 0
       AND oid IN (SELECT to_regclass(name) FROM unnest($1::text[]) AS t (name))`,
    [scans.map(({ table }) => table)],
  );
  return row?.n ?? undefined;
}

/** Rows whose parent does not exist: the source has no foreign keys. */
const orphanScans = [
  { table: 'messages', parent: 'conversations', column: 'conversation_id' },
  { table: 'conversations', parent: 'apps', column: 'app_id' },
  { table: 'documents', parent: 'datasets', column: 'dataset_id' },
  { table: 'document_segments', parent: 'documents', column: 'document_id' },
  { table: 'child_chunks', parent: 'document_segments', column: 'segment_id' },
];

export async function countOrphans(context: RunContext): Promise<void> {
  const { source, report } = context;
  for (const { table, parent, column } of orphanScans) {
    if (!source.has(table) || !source.has(parent)) continue;
    const join = `LEFT JOIN ${parent} p ON p.id = batch.parent_id`;
    const orphans = 'count(*) FILTER (WHERE p.id IS NULL)::int4 AS orphans';
    const columns = `r.${column} AS parent_id`;
    for await (const batch of inBatches<{ orphans: number }>(context, table, columns, orphans, join))
      if (batch.orphans > 0) report.count(`orphans in ${table}`, batch.orphans);
  }
}
