import { words } from '../map/json.ts';
import { type DifySource, type Keys, queryIds, type SourcePoint, type Target } from '../source.ts';
import { changedSince, isPresent, overlapSeconds, scans } from './changed.ts';

/** Seconds that polls look back by the times of rows, at least. Older rows are found by the hourly scan. */
const recentSeconds = 900;

/** The time from which on a poll reads rows: also all that were created while nothing was polled. */
const recentSince = (since: SourcePoint, now: SourcePoint): string => {
  const seconds = Math.ceil(Math.max(recentSeconds, now.time - since.time + overlapSeconds));
  return `now() AT TIME ZONE 'UTC' - interval '${seconds} seconds'`;
};

/**
 * Recently created messages that were written since a point, themselves or one of their parts, and their conversations. Those that
 * are `pending` are added whenever they were created; and, written or not, if they are neither paused nor old.
 * All of it is read by indexes. Conversations that were deleted recently have an index too.
 *
 * It is the last read before a sync: a message that another statement has found, by its new feedback for example, may be
 * newer than one that the same statement could not find yet, and messages of one second are stored in the order of syncs.
 */
export async function* findMessages(
  source: DifySource,
  since: SourcePoint,
  now: SourcePoint,
  pending: readonly string[],
): AsyncGenerator<Keys> {
  const recently = recentSince(since, now);
  const parts = scans.filter(({ table, of }) => of === 'r.message_id' && source.has(table));
  const isChanged = (table: string, row: string) => changedSince(source, table, row, since, now);
  const hasChangedPart = parts.map(
    ({ table }) => `EXISTS (SELECT FROM ${table} p WHERE p.message_id = m.id AND ${isChanged(table, 'p')})`,
  );
  const rows = await source.query<{ id: string; conversation_id: string }>(
    `SELECT m.id, m.conversation_id FROM messages m
     WHERE (m.created_at > ${recently} OR m.id = ANY($1::uuid[])) AND (
       ${[isChanged('messages', 'm'), ...hasChangedPart].join(' OR ')} OR
       m.id = ANY($1::uuid[]) AND m.status <> 'paused' AND m.created_at > ${recently})`,
    [pending],
  );
  yield { kind: 'message', ids: rows.map(({ id }) => id) };
  yield { kind: 'conversation', ids: [...new Set(rows.map(({ conversation_id }) => conversation_id))] };
  if (!source.has('conversations', 'is_deleted')) return;
  const findDeleted = `SELECT c.id FROM conversations c
    WHERE c.is_deleted IS true AND c.updated_at > ${recently} AND ${isChanged('conversations', 'c')}`;
  yield { kind: 'conversation', ids: await queryIds(source, findDeleted) };
}

/**
 * What polls of messages do not find, and what has no index on its times: conversations by app, feedback, forms, and
 * documents with their segments and child chunks.
 */
export async function* findOthers(source: DifySource, since: SourcePoint, now: SourcePoint): AsyncGenerator<Keys> {
  const recently = recentSince(since, now);
  const isChanged = (table: string, row: string) => changedSince(source, table, row, since, now);
  const read = async (kind: Target, sql: string, parameters: readonly unknown[] = []): Promise<Keys> => ({
    kind,
    ids: (await queryIds(source, sql, parameters)).filter((id) => id !== null),
  });
  yield await read(
    'conversation',
    `SELECT c.id FROM apps a CROSS JOIN LATERAL (
       SELECT c.id FROM conversations c WHERE c.app_id = a.id AND c.is_deleted IS false AND c.updated_at > ${recently}
         AND ${isChanged('conversations', 'c')}) c`,
  );
  for (const { table, of } of scans.filter(({ table }) => ['message_feedbacks', 'human_input_forms'].includes(table))) {
    if (isPresent(source, { table }))
      yield await read('message', `SELECT ${of} AS id FROM ${table} r WHERE ${isChanged(table, 'r')}`);
  }
  const documents = await read('document', `SELECT r.id FROM documents r WHERE ${isChanged('documents', 'r')}`);
  if (documents.ids.length === 0) return;
  yield documents;
  const segmentsOf = 'SELECT g.id FROM document_segments g WHERE g.document_id = ANY($1::uuid[])';
  yield await read('segment', `${segmentsOf} AND ${isChanged('document_segments', 'g')}`, [documents.ids]);
  yield await read(
    'child_chunk',
    `SELECT h.id FROM child_chunks h WHERE h.segment_id IN (${segmentsOf}) AND ${isChanged('child_chunks', 'h')}`,
    [documents.ids],
  );
}

/** Tables that decide on keys, apps and datasets. */
const configurationTables = words(`
  tenants apps api_tokens datasets sites app_model_configs app_annotation_settings tenant_account_joins
  tag_bindings tags dataset_metadatas external_knowledge_bindings external_knowledge_apis`);

/** A text that changes with every write to the tables of workspaces, apps, datasets and keys. */
export async function readConfigurationFingerprint(source: DifySource): Promise<string> {
  const parts = configurationTables
    .filter((table) => source.has(table))
    .map((table) => {
      const sum = "coalesce(sum(hashtext(r.id::text || ' ' || r.xmin)), 0) AS sum";
      return `SELECT '${table}' AS name, count(*) AS n, ${sum} FROM ${table} r`;
    });
  const [row] = await source.query<{ fingerprint: string }>(
    `SELECT string_agg(concat_ws(' ', name, n, sum), ',' ORDER BY name) AS fingerprint FROM (${parts.join(' UNION ALL ')}) f`,
    [],
  );
  return row?.fingerprint ?? '';
}
