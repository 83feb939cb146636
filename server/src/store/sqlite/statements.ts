import type { PageOrder } from '../../contract/message.ts';
import { type MessagePosition, messageSeparator } from '../../domain/store/store.ts';
import type { Dialect, SearchDialect, SearchTable } from '../base/engine.ts';
import type { Statement } from '../base/statement.ts';

/** The words of the search index that begin with a text, from the lists of words that FTS5 has of its tables. */

/** For a connection that reads. A list of instances finds a word without counting its rows. */
export const createWordLists = `
  CREATE VIRTUAL TABLE temp.search_message_words USING fts5vocab(main, search_message_tokens, instance);
  CREATE VIRTUAL TABLE temp.search_chunk_words USING fts5vocab(main, search_chunk_tokens, instance);`;

/**
 * Each word is found by a seek behind the one before it: no longer word sorts before it followed by char(1). The rows of some may
 * have been removed: such words find nothing. Parameters: the beginning, a count.
 */
const findWords = (list: string): Statement<{ term: string }> => `
  WITH RECURSIVE words (term) AS (
    SELECT (SELECT term FROM ${list} WHERE term >= ?1 LIMIT 1)
    UNION ALL
    SELECT (SELECT term FROM ${list} WHERE term >= words.term || char(1) LIMIT 1)
    FROM words WHERE substr(words.term, 1, length(?1)) = ?1
  )
  SELECT term FROM words WHERE substr(term, 1, length(?1)) = ?1 LIMIT ?2`;

export const wordsWith: Record<SearchTable, Statement<{ term: string }>> = {
  search_messages: findWords('search_message_words'),
  search_chunks: findWords('search_chunk_words'),
};

/** SQL for the embedded engine only. Parameters are positional. */

/** A table of FTS5 is sorted by position, and reads only what a LIMIT needs. Tokens have no quotation marks. */
const search: SearchDialect = {
  // One query for both would read the whole table: https://sqlite.org/optoverview.html#minmax.
  range: (table) =>
    `SELECT (SELECT MIN(position) FROM ${table}) AS first, (SELECT MAX(position) FROM ${table}) AS last`,
  windows: { days: 1, fast: 5, slow: 10, tooSlow: 40 },
  from: {
    search_messages: 'search_message_tokens t JOIN search_messages s ON s.position = t.rowid',
    search_chunks: 'search_chunk_tokens t JOIN search_chunks s ON s.position = t.rowid',
  },
  position: 't.rowid',
  matches: { search_messages: 'search_message_tokens MATCH ?', search_chunks: 'search_chunk_tokens MATCH ?' },
  isIndexed: { search_messages: 's.filter_terms IS NOT NULL', search_chunks: 'true' },
  wordsWith,
  queryOf: (tokens) =>
    tokens
      .map((list) => `(${list.map(({ token, isPrefix }) => `"${token}"${isPrefix ? ' *' : ''}`).join(' OR ')})`)
      .join(' AND '),
};

export const dialect: Dialect = {
  search,
  isIn: (column) => `${column} IN (SELECT value FROM json_each(?))`,
  list: (values) => JSON.stringify(values),
  isPair: (first, second) => `(${first}, ${second}) IN (SELECT value ->> 0, value ->> 1 FROM json_each(?))`,
  pairs: (pairs) => [JSON.stringify(pairs)],
  hasOneWriter: true,
  leavesCopies: true,
  lockRows: (columns, table, condition) => `SELECT ${columns} FROM ${table} WHERE ${condition}`,
  listTable: 'json_each(?)',
  jsonField: (column, name) => `${column} ->> '${name}'`,
  readsCursorFirst: false,
  databaseSize: 'SELECT page_count * page_size AS bytes, 1 AS instances FROM pragma_page_count(), pragma_page_size()',
};

/** Changes with every commit of any process. */
export const dataVersion: Statement<[number]> = 'PRAGMA data_version';

type Position = number | null;
type FoundConversation = [version: string, has_large_messages: 0 | 1, created_at?: Position, sequence?: Position];

/**
 * The version of a conversation, whether it has large messages and, if `hasFirst`, the position of the first message: null
 * if that message does not exist.
 * Parameters: [first_id,] conversation_id, app_id[, user].
 */
function findConversation(hasFirst: boolean, hasUser: boolean): Statement<FoundConversation> {
  return `
    SELECT c.version, c.has_large_messages ${hasFirst ? ', f.created_at, f.sequence' : ''}
    FROM conversations c
    ${hasFirst ? 'LEFT JOIN messages f ON f.conversation_id = c.conversation_id AND f.id = ?' : ''}
    WHERE c.conversation_id = ? AND c.app_id = ? AND c.deleted = 0 ${hasUser ? 'AND c."user" = ?' : ''}`;
}

/**
 * The newest messages, or those before a position, joined into one text: returning one row per message costs twice as much.
 * Parameters: conversation_id[, created_at, sequence], count.
 */
function joinMessages(hasFirst: boolean, page_order: PageOrder): Statement<[count: number, docs: Uint8Array | null]> {
  const newest = (columns: string) => `
    SELECT ${columns} FROM messages
    WHERE conversation_id = ? ${hasFirst ? 'AND (created_at, sequence) < (?, ?)' : ''}
    ORDER BY created_at DESC, sequence DESC LIMIT ?`;
  const ordered =
    page_order === 'newest_first'
      ? newest('doc')
      : `SELECT doc FROM (${newest('doc, created_at, sequence')}) ORDER BY created_at, sequence`;
  return `
    SELECT COUNT(*) AS count, CAST(group_concat(doc, '${messageSeparator}') AS BLOB) AS docs FROM (${ordered})`;
}

/**
 * Positions and lengths of the same messages, newest first, without reading their texts. The inner statement has no lower
 * bound, since SQLite would read each row as a whole to compare it with the bound. So it may return messages of another
 * conversation, too. Parameters: conversation_id[, created_at, sequence], count, conversation_id.
 */
function findPositions(hasFirst: boolean): Statement<MessagePosition> {
  return `
    SELECT id, bytes, created_at, sequence FROM (
      SELECT conversation_id, id, octet_length(doc) AS bytes, created_at, sequence FROM messages
      WHERE ${hasFirst ? '(conversation_id, created_at, sequence) < (?, ?, ?)' : 'conversation_id <= ?'}
      ORDER BY conversation_id DESC, created_at DESC, sequence DESC LIMIT ?
    ) WHERE conversation_id = ?`;
}

/**
 * The texts from a message on. One statement reads all texts of a page, row by row: a search for each message would read the
 * large rows on its way as a whole. For the same reason it has no other bound: the caller counts.
 * Parameters: conversation_id, created_at, sequence.
 */
function readDocs(comparison: '<=' | '>=', direction: 'DESC' | 'ASC'): Statement<{ doc: Uint8Array }> {
  return `
    SELECT CAST(doc AS BLOB) AS doc FROM messages
    WHERE (conversation_id, created_at, sequence) ${comparison} (?, ?, ?)
    ORDER BY conversation_id ${direction}, created_at ${direction}, sequence ${direction}`;
}

const inBothOrders = (hasFirst: boolean) => ({
  newest_first: joinMessages(hasFirst, 'newest_first'),
  oldest_first: joinMessages(hasFirst, 'oldest_first'),
});

export const pageStatements = {
  conversation: {
    newest: { anyUser: findConversation(false, false), user: findConversation(false, true) },
    older: { anyUser: findConversation(true, false), user: findConversation(true, true) },
  },
  /** For a page that fits into memory. */
  messages: { newest: inBothOrders(false), older: inBothOrders(true) },
  /** For a page that may not. */
  positions: { newest: findPositions(false), older: findPositions(true) },
  docs: { newest_first: readDocs('<=', 'DESC'), oldest_first: readDocs('>=', 'ASC') },
};
