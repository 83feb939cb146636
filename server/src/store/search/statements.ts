import type { CitedSegment, IndexQuery, IndexState } from '../../domain/store/search-reads.ts';
import type { Dialect, SearchDialect, SearchTable, Value, WriteInput } from '../base/engine.ts';
import { first, type Statement, type Write } from '../base/statement.ts';

/** SQL of the search, in the subset that both engines understand. */

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
/** Parameters: conversation_id, id. */
export const findText: Statement<{ text: string }> = `
  SELECT ${searched.text} AS text FROM messages m WHERE m.conversation_id = ? AND m.id = ?`;

/** Rows in a range of positions, newest first. Parameters: the returned values, the first position, the end, a count. */
export function findEntries<R extends object>(
  { search: dialect, isIn, list }: Dialect,
  table: SearchTable,
  query: IndexQuery,
): [Statement<R>, Value[]] {
  const { tokens, conversation_id, scope, min_cost, min_latency, waits_after, created_from, created_to } = query;
  const hasTokens = tokens.length > 0;
  const position = hasTokens ? dialect.position : 's.position';
  const conditions: [string, Value][] = hasTokens ? [[dialect.matches[table], dialect.queryOf(tokens)]] : [];
  if (conversation_id !== undefined) conditions.push(['s.conversation_id = ?', conversation_id]);
  if (scope !== undefined) {
    const inWorkspace = 's.dataset_id IN (SELECT d.id FROM datasets d WHERE d.workspace_id = ?)';
    conditions.push([inWorkspace, scope.workspace_id]);
    if (scope.dataset_ids !== null) conditions.push([isIn('s.dataset_id'), list(scope.dataset_ids)]);
  }
  if (min_cost !== undefined) conditions.push(['s.cost >= ?', min_cost]);
  if (min_latency !== undefined) conditions.push(['s.latency >= ?', min_latency]);
  if (waits_after !== undefined) conditions.push(['s.waits_until > ?', waits_after]);
  if (created_from !== undefined) conditions.push(['s.created_at >= ?', created_from]);
  if (created_to !== undefined) conditions.push(['s.created_at < ?', created_to]);
  const where = conditions.map(([text]) => text);
  if (!hasTokens) where.push(dialect.isIndexed[table]);
  const statement = `
    SELECT ${position} AS position, ${columns[table]} FROM ${hasTokens ? dialect.from[table] : `${table} s`}
    WHERE ${[...where, `${position} >= ?`, `${position} < ?`].join(' AND ')}
    ORDER BY ${position} DESC LIMIT ?`;
  return [statement, conditions.map(([, value]) => value)];
}

/** How many rows `findEntries` returns. */
export function countFound(...find: Parameters<typeof findEntries>): [Statement<{ n: number }>, Value[]] {
  const [statement, values] = findEntries(...find);
  return [`SELECT COUNT(*) AS n FROM (${statement}) found`, values];
}

/** Of one conversation. Parameters: conversation_id, count. */
export const findIndexed = ({ isIndexed }: SearchDialect): Statement<{ conversation_id: string; id: string }> => `
  SELECT s.conversation_id, s.id FROM search_messages s
  WHERE s.conversation_id = ? AND ${isIndexed.search_messages} LIMIT ?`;

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
/** Parameters: cursor. */
export const moveCursor = `UPDATE search_state SET cursor = ? WHERE name = 'state'`;
/** The next process that takes the lease begins. Parameters: rules. */
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
