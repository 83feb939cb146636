import { limits } from '../../../contract/limits.ts';
import type { Dialect, SearchDialect } from '../../base/engine.ts';
import type { Statement } from '../../base/statement.ts';
import { bytesColumn } from '../pool/row-bytes.ts';

/** SQL for PostgreSQL only. Every statement names the distribution column of its tables. */

const isLarge = `octet_length(m.doc) > ${limits.joinedDocBytesMax}`;

/** The columns to read for each message of a page. PostgreSQL gets the length of a text without loading the text. */
export const pageColumns = {
  /** Without large texts, of which only the lengths are read: the page may be too large for memory. */
  smallTexts: `m.id, CASE WHEN ${isLarge} THEN CAST(octet_length(m.doc) AS TEXT) END AS large_bytes,
      CASE WHEN NOT ${isLarge} THEN m.doc END AS ${bytesColumn}`,
  /** For a page that fits into memory. */
  allTexts: `m.id, CAST(NULL AS TEXT) AS large_bytes, m.doc AS ${bytesColumn}`,
  /** For a page that does not fit into memory. */
  positions: 'm.id, octet_length(m.doc) AS bytes, m.created_at, m.sequence',
};

/**
 * A page, in four forms: with and without a first message, with and without a user. Every row carries the conversation's
 * version. If that is the cached version, or if there are no messages, the result is one row whose message is null. A
 * lateral subquery reads the range in order and stops at the limit. Joining the texts in SQL would cost more than sending
 * them as rows. Parameters: [first_id,] cached version, conversation_id, app_id[, user], count.
 */
export function pageStatement(hasFirst: boolean, hasUser: boolean, columns: string = pageColumns.smallTexts): string {
  let parameters = 0;
  const next = () => `$${++parameters}`;
  const first = hasFirst ? next() : '';
  const [cached, conversation, app] = [next(), next(), next()];
  const user = hasUser ? next() : '';
  const count = next();
  return `
    SELECT c.version, ${hasFirst ? "CASE WHEN f.id IS NOT NULL THEN 'y' END" : "'y'"} AS first_message, ${columns}
    FROM conversations c
    ${hasFirst ? `LEFT JOIN messages f ON f.conversation_id = ${conversation} AND f.id = ${first}` : ''}
    LEFT JOIN LATERAL (
      SELECT id, doc, created_at, sequence FROM messages
      WHERE conversation_id = ${conversation} AND c.version <> ${cached}
        ${hasFirst ? 'AND (created_at, sequence) < (f.created_at, f.sequence)' : ''}
      ORDER BY created_at DESC, sequence DESC LIMIT ${count}
    ) m ON true
    WHERE c.conversation_id = ${conversation}/*@*/ AND c.app_id = ${app} AND c.deleted = 0
      ${hasUser ? `AND c."user" = ${user}` : ''}
    ORDER BY m.created_at DESC, m.sequence DESC`;
}

/** Texts by their positions in one conversation. Parameters: conversation_id, created_at, sequence. */
export const findDocs: Statement<{ [bytesColumn]: Buffer }> = `
  SELECT m.doc AS ${bytesColumn} FROM unnest($2::bigint[], $3::bigint[]) WITH ORDINALITY AS given (created_at, sequence, place)
  JOIN messages m ON m.conversation_id = $1 AND m.created_at = given.created_at AND m.sequence = given.sequence
  WHERE m.conversation_id = $1/*@*/ ORDER BY given.place`;

export type ConversationVersion = { conversation_id: string; app_id: string; user: string | null; version: string };
/** Checks many cached pages in one query. Parameters: conversation ids. */
export const findVersions: Statement<ConversationVersion> = `
  SELECT conversation_id, app_id, "user", version FROM conversations WHERE conversation_id = ANY($1)/*@*/ AND deleted = 0`;

/** Tokens have no quotation marks and no backslashes. */
const search: SearchDialect = {
  range: (table) => `SELECT MIN(position) AS first, MAX(position) AS last FROM ${table}`,
  windows: { days: 1, fast: 5, slow: 10, tooSlow: 40 },
  from: { search_messages: 'search_messages s', search_chunks: 'search_chunks s' },
  position: 's.position',
  matches: { search_messages: 's.tokens @@ CAST(? AS tsquery)', search_chunks: 's.tokens @@ CAST(? AS tsquery)' },
  isIndexed: { search_messages: 's.tokens IS NOT NULL', search_chunks: 's.tokens IS NOT NULL' },
  queryOf: (tokens) =>
    tokens
      .map((list) => `(${list.map(({ token, isPrefix }) => `'${token}'${isPrefix ? ':*' : ''}`).join(' | ')})`)
      .join(' & '),
};

export const dialect: Dialect = {
  search,
  isIn: (column) => `${column} = ANY(?)`,
  list: (values) => values,
  isPair: (first, second) => `${second} = ANY(?) AND ${first} = ANY(?)`,
  pairs: (pairs) => [[...new Set(pairs.map(([, second]) => second))], [...new Set(pairs.map(([first]) => first))]],
  hasOneWriter: false,
  leavesCopies: false,
  // Distributed engines reject a SELECT … FOR UPDATE of rows on several nodes.
  lockRows: (columns, table, condition, unchanged = 'version') =>
    `UPDATE ${table} SET ${unchanged} = ${unchanged} WHERE ${condition} RETURNING ${columns}`,
  listTable: 'unnest(CAST(? AS text[])) AS listed (value)',
  jsonField: (column, name) => `CAST(${column} AS json) ->> '${name}'`,
  readsCursorFirst: false,
  databaseSize: `
    SELECT pg_database_size(current_database()) AS bytes, (
      SELECT COUNT(DISTINCT application_name) FROM pg_stat_activity
      WHERE datname = current_database() AND application_name LIKE 'backscroll %'
    ) AS instances`,
};

export const leaseTable = `
  CREATE TABLE IF NOT EXISTS leases (
    name TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    holder TEXT COLLATE "C" NOT NULL,
    expires_at BIGINT NOT NULL
  )`;

/** Of the tables that grow with imports. */
export const updateStatistics = 'ANALYZE conversations, messages, documents, segments, child_chunks';
