import type { IdSets } from './id-set.ts';
import { isComparable, type SourcePoint } from './point.ts';
import { begin, type RunContext } from './run-context.ts';
import type { DifySource } from './source.ts';

/** Finds changed rows of the source. */

/** The scope that is read again when a row has changed. */
export type Target = 'conversation' | 'message' | 'document' | 'segment' | 'child_chunk';

type Scan = {
  table: string;
  target: Target;
  /** The id of the target, for a row `r`. */
  of: string;
};

const ofForm = '(SELECT e.message_id FROM execution_extra_contents e WHERE e.form_id = r.id LIMIT 1)';

/** Parents before children. The parts of a message are in tables of their own. */
const scans: readonly Scan[] = [
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
const overlapSeconds = 600;
export const noId = '00000000-0000-0000-0000-000000000000';

const isPresent = (source: DifySource, { table }: Scan): boolean =>
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

/** Adds the targets of all rows that were written since a point. Every table is read in the order of its ids. */
export async function scanAll(
  source: DifySource,
  since: SourcePoint,
  now: SourcePoint,
  changed: IdSets,
  { checkpoint, progress }: Pick<RunContext, 'checkpoint' | 'progress'>,
): Promise<void> {
  begin(progress, 'comparing rows', await estimateRows(source));
  for (const scan of scans) {
    if (!isPresent(source, scan)) continue;
    const isChanged = changedSince(source, scan.table, 'r', since, now);
    let after = noId;
    do {
      await checkpoint();
      const [row] = await source.query<{ last: string | null; rows: number; targets: (string | null)[] | null }>(
        `SELECT max(id::text COLLATE "C") AS last, count(*)::int4 AS rows, array_agg(target::text) FILTER (WHERE changed) AS targets
         FROM (SELECT r.id, ${isChanged} AS changed, CASE WHEN ${isChanged} THEN ${scan.of} END AS target
               FROM ${scan.table} r WHERE r.id > $1::uuid ORDER BY r.id LIMIT ${batchRows}) batch`,
        [after],
      );
      addTargets(changed, scan.target, row?.targets ?? []);
      progress.done += row?.rows ?? 0;
      after = row?.rows === batchRows ? (row.last ?? '') : '';
    } while (after !== '');
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

function addTargets(changed: IdSets, target: Target, ids: readonly (string | null)[]): void {
  const present = ids.filter((id) => id !== null);
  if (present.length > 0) changed.add(target, present);
}

/** Seconds that polls look back by the times of rows, at least. Older rows are found by the hourly scan. */
const recentSeconds = 900;

/** The time from which on a poll reads rows: also all that were created while nothing was polled. */
const recentSince = (since: SourcePoint, now: SourcePoint): string => {
  const seconds = Math.ceil(Math.max(recentSeconds, now.time - since.time + overlapSeconds));
  return `now() AT TIME ZONE 'UTC' - interval '${seconds} seconds'`;
};

/**
 * Adds recently created messages that were written since a point, themselves or one of their parts, and their conversations.
 * All of it is read by indexes. Conversations that were deleted recently have an index too.
 *
 * It is the last read before a sync: a message that another statement has found, by its new feedback for example, may be
 * newer than one that the same statement could not find yet, and messages of one second are stored in the order of syncs.
 */
export async function pollMessages(
  source: DifySource,
  since: SourcePoint,
  now: SourcePoint,
  changed: IdSets,
): Promise<void> {
  const recently = recentSince(since, now);
  const parts = scans.filter(({ table, of }) => of === 'r.message_id' && source.has(table));
  const isChanged = (table: string, row: string) => changedSince(source, table, row, since, now);
  const hasChangedPart = parts.map(
    ({ table }) => `EXISTS (SELECT FROM ${table} p WHERE p.message_id = m.id AND ${isChanged(table, 'p')})`,
  );
  const rows = await source.query<{ id: string; conversation_id: string }>(
    `SELECT m.id, m.conversation_id FROM messages m
     WHERE m.created_at > ${recently} AND (${[isChanged('messages', 'm'), ...hasChangedPart].join(' OR ')})`,
    [],
  );
  addTargets(
    changed,
    'message',
    rows.map(({ id }) => id),
  );
  addTargets(changed, 'conversation', [...new Set(rows.map(({ conversation_id }) => conversation_id))]);
  if (!source.has('conversations', 'is_deleted')) return;
  const deleted = await source.query<{ id: string }>(
    `SELECT c.id FROM conversations c
     WHERE c.is_deleted IS true AND c.updated_at > ${recently} AND ${isChanged('conversations', 'c')}`,
    [],
  );
  addTargets(
    changed,
    'conversation',
    deleted.map(({ id }) => id),
  );
}

/**
 * Adds what polls of messages do not find, and what has no index on its times: conversations by app, feedback, forms, and
 * documents with their segments and child chunks.
 */
export async function pollOthers(
  source: DifySource,
  since: SourcePoint,
  now: SourcePoint,
  changed: IdSets,
): Promise<void> {
  const recently = recentSince(since, now);
  const isChanged = (table: string, row: string) => changedSince(source, table, row, since, now);
  const read = async (target: Target, sql: string, ids: readonly string[] = []) => {
    const rows = await source.query<{ id: string | null }>(sql, ids.length === 0 ? [] : [ids]);
    const found = rows.map(({ id }) => id);
    addTargets(changed, target, found);
    return found.filter((id) => id !== null);
  };
  await read(
    'conversation',
    `SELECT c.id FROM apps a CROSS JOIN LATERAL (
       SELECT c.id FROM conversations c WHERE c.app_id = a.id AND c.is_deleted IS false AND c.updated_at > ${recently}
         AND ${isChanged('conversations', 'c')}) c`,
  );
  for (const { table, of } of scans.filter(({ table }) => ['message_feedbacks', 'human_input_forms'].includes(table))) {
    if (!isPresent(source, { table, of, target: 'message' })) continue;
    await read('message', `SELECT ${of} AS id FROM ${table} r WHERE ${isChanged(table, 'r')}`);
  }
  const documents = await read('document', `SELECT r.id FROM documents r WHERE ${isChanged('documents', 'r')}`);
  if (documents.length === 0) return;
  const segmentsOf = 'SELECT g.id FROM document_segments g WHERE g.document_id = ANY($1::uuid[])';
  await read('segment', `${segmentsOf} AND ${isChanged('document_segments', 'g')}`, documents);
  await read(
    'child_chunk',
    `SELECT h.id FROM child_chunks h WHERE h.segment_id IN (${segmentsOf}) AND ${isChanged('child_chunks', 'h')}`,
    documents,
  );
}

/** Tables that decide on keys, apps and datasets. */
const configurationTables = [
  'tenants',
  'apps',
  'api_tokens',
  'datasets',
  'sites',
  'app_model_configs',
  'app_annotation_settings',
  'tenant_account_joins',
  'tag_bindings',
  'tags',
  'dataset_metadatas',
  'external_knowledge_bindings',
  'external_knowledge_apis',
];

/** A text that changes with every write to the tables of workspaces, apps, datasets and keys. */
export async function readConfigurationFingerprint(source: DifySource): Promise<string> {
  const parts = configurationTables
    .filter((table) => source.has(table))
    .map(
      (
        table,
      ) => `SELECT '${table}' AS name, count(*) AS n, coalesce(sum(hashtext(r.id::text || ' ' || r.xmin)), 0) AS sum
        FROM ${table} r`,
    );
  const [row] = await source.query<{ fingerprint: string }>(
    `SELECT string_agg(concat_ws(' ', name, n, sum), ',' ORDER BY name) AS fingerprint FROM (${parts.join(' UNION ALL ')}) f`,
    [],
  );
  return row?.fingerprint ?? '';
}

/** Rows whose parent does not exist: the source has no foreign keys. */
const orphanScans = [
  { table: 'messages', parent: 'conversations', column: 'conversation_id' },
  { table: 'conversations', parent: 'apps', column: 'app_id' },
  { table: 'documents', parent: 'datasets', column: 'dataset_id' },
  { table: 'document_segments', parent: 'documents', column: 'document_id' },
  { table: 'child_chunks', parent: 'document_segments', column: 'segment_id' },
];

/** Counts them, in the order of their ids. */
export async function countOrphans(
  source: DifySource,
  report: (table: string, count: number) => void,
  checkpoint: RunContext['checkpoint'],
): Promise<void> {
  for (const { table, parent, column } of orphanScans) {
    if (!source.has(table) || !source.has(parent)) continue;
    let after = noId;
    do {
      await checkpoint();
      const [row] = await source.query<{ last: string | null; rows: number; orphans: number }>(
        `SELECT max(batch.id::text COLLATE "C") AS last, count(*)::int4 AS rows, count(*) FILTER (WHERE p.id IS NULL)::int4 AS orphans
         FROM (SELECT r.id, r.${column} AS parent_id FROM ${table} r WHERE r.id > $1::uuid ORDER BY r.id
               LIMIT ${batchRows}) batch LEFT JOIN ${parent} p ON p.id = batch.parent_id`,
        [after],
      );
      if (row !== undefined && row.orphans > 0) report(table, row.orphans);
      after = row?.rows === batchRows ? (row.last ?? '') : '';
    } while (after !== '');
  }
}
