import type { SearchTable } from '../base/engine.ts';
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
