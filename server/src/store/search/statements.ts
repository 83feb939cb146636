import type { ChunkHit, ChunkKind, CitedSegment, IndexQuery, IndexState } from '../../domain/store/search-reads.ts';
import type { Dialect, SearchDialect, SearchTable, Value, WriteInput } from '../base/engine.ts';
import { given, inPeriod, sorted, split } from '../base/selection.ts';
import { sizedColumns, type TextSource } from '../base/sized.ts';
import { first, type Statement, type Write } from '../base/statement.ts';

const columns: Record<SearchTable, string> = {
  search_messages: 's.conversation_id, s.id',
  search_chunks: 's.dataset_id, s.kind, s.id',
};

/** The JSON text of a message `m`, with its items. */
export const searched = {
  text: `CASE WHEN m.items IS NULL THEN m.doc
    ELSE substr(m.doc, 1, length(m.doc) - 1) || ',"items":' || m.items || '}' END`,
  bytes: 'octet_length(m.doc) + COALESCE(octet_length(m.items), 0)',
};
export const findText: Statement<{ text: string }> = `
  SELECT ${searched.text} AS text FROM messages m WHERE m.conversation_id = ?/*@*/ AND m.id = ?`;

/** A large text is read only after the budget was checked. */
export const textColumns = (text: TextSource): string => sizedColumns({ columns: [], texts: { text } }, 'small');

/** Parameters: dataset_id, id. */
export const findContent: Record<ChunkKind, Statement<{ content: string; deleted: number }>> = {
  segment: 'SELECT content, 0 AS deleted FROM segments WHERE dataset_id = ?/*@*/ AND id = ?',
  child_chunk: 'SELECT content, deleted FROM child_chunks WHERE dataset_id = ?/*@*/ AND id = ?',
};

/** With what they belong to. Both engines look up each table by its key, in this order. Parameters: pairs of a dataset and an id. */
export function findChunks(kind: ChunkKind, { isPair }: Dialect): Statement<ChunkHit> {
  const isSegment = kind === 'segment';
  const [hit, id, position] = isSegment
    ? ['s', 'CAST(NULL AS TEXT)', 'CAST(NULL AS BIGINT)']
    : ['c', 'c.id', 'c.position'];
  return `
    SELECT d.id AS dataset_id, ${sorted('d.name')} AS dataset_name, o.id AS document_id, o.name AS document_name,
      s.id AS segment_id, s.position AS segment_position, ${id} AS child_chunk_id, ${position} AS child_chunk_position,
      ${textColumns(`${hit}.content`)}
    FROM ${isSegment ? '' : 'child_chunks c CROSS JOIN'} segments s CROSS JOIN documents o CROSS JOIN datasets d
    WHERE ${isPair(`${hit}.dataset_id`, `${hit}.id`)}/*@*/
      ${isSegment ? '' : 'AND c.deleted = 0 AND s.dataset_id = c.dataset_id AND s.id = c.segment_id'}
      AND o.dataset_id = s.dataset_id AND o.id = s.document_id AND d.id = s.dataset_id`;
}

/** Rows in a range of positions, newest first. Parameters: the returned values, the first position, the end, a count. */
export function findEntries<R extends object>(
  { search: dialect, isIn, list }: Dialect,
  table: SearchTable,
  query: IndexQuery,
): [Statement<R>, Value[]] {
  const { tokens, conversation_id, scope, min_cost, min_latency, waits_after, created_from, created_to } = query;
  const hasTokens = tokens.length > 0;
  const position = hasTokens ? dialect.position : 's.position';
  const dataset_ids = scope?.dataset_ids ?? undefined;
  const { texts: where, values } = split([
    ...(hasTokens ? given(dialect.matches[table], dialect.queryOf(tokens)) : [[dialect.isIndexed[table]] as const]),
    ...given('s.conversation_id = ?/*@*/', conversation_id),
    ...given('s.dataset_id IN (SELECT d.id FROM datasets d WHERE d.workspace_id = ?)', scope?.workspace_id),
    ...given(`${isIn('s.dataset_id')}/*@*/`, dataset_ids && list(dataset_ids)),
    ...given('s.cost >= ?', min_cost),
    ...given('s.latency >= ?', min_latency),
    ...given('s.waits_until > ?', waits_after),
    ...inPeriod('s.created_at', { from: created_from, to: created_to }),
  ]);
  const statement = `
    SELECT ${position} AS position, ${columns[table]} FROM ${hasTokens ? dialect.from[table] : `${table} s`}
    WHERE ${[...where, `${position} >= ?`, `${position} < ?`].join(' AND ')}
    ORDER BY ${position} DESC LIMIT ?`;
  return [statement, values];
}

export function countFound(...find: Parameters<typeof findEntries>): [Statement<{ n: number }>, Value[]] {
  const [statement, values] = findEntries(...find);
  return [`SELECT COUNT(*) AS n FROM (${statement}) found`, values];
}

/** Of one conversation. Parameters: conversation_id, count. */
export const findIndexed = ({ isIndexed }: SearchDialect): Statement<{ conversation_id: string; id: string }> => `
  SELECT s.conversation_id, s.id FROM search_messages s
  WHERE s.conversation_id = ?/*@*/ AND ${isIndexed.search_messages} LIMIT ?`;

export const countEntries = ['search_messages', 'search_chunks'].map(
  (table): Statement<{ n: number }> => `SELECT COUNT(*) AS n FROM ${table}`,
);

/** Parameters: the first day, a count. */
export const findWorst: Statement<CitedSegment> = `
  SELECT dataset_id, segment_id, CAST(SUM(disliked) AS BIGINT) AS disliked
  FROM search_citations WHERE disliked <> 0 AND segment_id <> '' AND day >= ?
  GROUP BY dataset_id, segment_id HAVING SUM(disliked) > 0 ORDER BY SUM(disliked) DESC, segment_id LIMIT ?`;
/** Parameters: the first day. */
export const countDisliked: Statement<{ disliked: number }> = `
  SELECT CAST(COALESCE(SUM(disliked), 0) AS BIGINT) AS disliked
  FROM search_citations WHERE dataset_id = '' AND document_id = '' AND segment_id = '' AND day >= ?`;

export const findState: Statement<IndexState> = `SELECT cursor, rules FROM search_state WHERE name = 'state'`;
/** Parameters: a position of the change feed. */
export const findTimeAfter: Statement<{ at: number }> =
  'SELECT at FROM changes WHERE position > ? ORDER BY position LIMIT 1';
export const moveCursor = `UPDATE search_state SET cursor = ? WHERE name = 'state'`;
/** The next process that takes the lease begins. */
export const resetState = `UPDATE search_state SET cursor = '', rules = ?, holder = '', expires_at = 0 WHERE name = 'state'`;
/** Parameters: holder, expires_at, holder, now. */
const takeLease: Statement<IndexState> = `
  UPDATE search_state SET holder = ?, expires_at = ?
  WHERE name = 'state' AND (holder = ? OR expires_at < ?) RETURNING cursor, rules`;

export const takeIndexLease = ({
  holder,
  expires_at,
  now,
}: WriteInput<'takeIndexLease'>): Write<IndexState | undefined> => first(takeLease, holder, expires_at, holder, now);
