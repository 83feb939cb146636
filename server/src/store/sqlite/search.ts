import { indexedMessage, tokensWithIds, wordsOf } from '../../domain/words/search-document.ts';
import { tokenRules } from '../../domain/words/tokens.ts';
import {
  type FoundChunk,
  type FoundMessage,
  type IndexTables,
  type MessageRow,
  rowColumns,
} from '../base/index-tables.ts';
import { itemsText } from '../base/message-tables.ts';
import type { SpooledOf } from '../base/spooled-record.ts';
import { execute, first, query, type Statement, type Write } from '../base/statement.ts';
import { emptyIndex } from '../search/index-writes.ts';
import * as sql from '../search/statements.ts';

/**
 * The tokens in FTS5. The tokens of a message in the index always follow from its stored text and the stored filter terms, so that
 * they can be removed: a write that changes the text removes them first.
 */

type IndexEntry = { position: number; filter_terms: string | null; text: string };

const findMessage: Statement<MessageRow & { text: string; filter_terms: string | null }> = `
  SELECT ${sql.searched.text} AS text, ${rowColumns}, s.filter_terms
  FROM messages m JOIN conversations c ON c.conversation_id = m.conversation_id
  LEFT JOIN search_messages s ON s.conversation_id = m.conversation_id AND s.id = m.id
  WHERE m.conversation_id = ? AND m.id = ?`;
/** Of one message, or of the messages of some conversations. */
const entriesWhere = (condition: string): Statement<IndexEntry> => `
  SELECT s.position, s.filter_terms, ${sql.searched.text} AS text
  FROM search_messages s JOIN messages m ON m.conversation_id = s.conversation_id AND m.id = s.id
  WHERE s.filter_terms IS NOT NULL AND s.conversation_id = ? ${condition}`;
const findEntries = entriesWhere('');
const findEntry = entriesWhere('AND s.id = ?');
/**
 * Without positions of words, FTS5 loses entries if a row is removed and added again in one flush (decision 0029). So what
 * was removed, also by an earlier write of the transaction, is flushed before anything is added.
 */
const flushRemoved = `INSERT INTO search_message_tokens (search_message_tokens) VALUES ('flush')`;
const addTokens = 'INSERT INTO search_message_tokens (rowid, tokens) VALUES (?, ?)';
const removeTokens = `INSERT INTO search_message_tokens (search_message_tokens, rowid, tokens) VALUES ('delete', ?, ?)`;
const writeEntry = `
  INSERT INTO search_messages (position, conversation_id, id, created_at, "user", cost, latency, waits_until, cited, filter_terms)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
const deleteEntry = 'DELETE FROM search_messages WHERE position = ?';
const clearFilterTerms = 'UPDATE search_messages SET filter_terms = NULL WHERE position = ?';
const findChunk: Statement<{ position: number }> =
  'SELECT position FROM search_chunks WHERE dataset_id = ? AND kind = ? AND id = ?';
const addChunk = 'INSERT INTO search_chunks (position, dataset_id, kind, id) VALUES (?, ?, ?, ?)';
const addChunkTokens = 'INSERT INTO search_chunk_tokens (rowid, tokens) VALUES (?, ?)';
const removeChunkTokens = 'DELETE FROM search_chunk_tokens WHERE rowid = ?';

type FoundEntry = FoundMessage & { filter_terms: string | null };

export const index: IndexTables = {
  // Pages are overwritten: they may have words of erased messages, if the index was damaged.
  empty: [
    ...['search_message_tokens', 'search_chunk_tokens'].map(
      (name) => `INSERT INTO ${name} (${name}) VALUES ('delete-all')`,
    ),
    'DELETE FROM search_messages',
    'DELETE FROM search_chunks',
    'DELETE FROM search_citations',
  ],
  findMax: 1,

  *find(keys) {
    const messages: FoundEntry[] = [];
    for (const { conversation_id, id } of keys) {
      const row = yield* first(findMessage, conversation_id, id);
      if (row === undefined) continue;
      const { position, created_at, cited, filter_terms } = row;
      const indexed = indexedMessage(row.text, row);
      const isGone = row.deleted === 1;
      const isSame = filter_terms === indexed.filterTerms && cited === indexed.cited;
      if (position !== null && !isGone && isSame && created_at === indexed.created_at) continue;
      messages.push({ conversation_id, id, position, created_at, cited, filter_terms, isGone, indexed });
    }
    return messages;
  },

  *remove(messages) {
    for (const { position, filter_terms, indexed } of messages as FoundEntry[]) {
      if (position === null) continue;
      if (filter_terms !== null) yield* execute(removeTokens, position, `${indexed?.words} ${filter_terms}`);
      yield* execute(deleteEntry, position);
    }
  },

  *add(messages) {
    for (const { position, conversation_id, id, indexed } of messages) {
      const { created_at, user, cost, latency, waits_until, cited, filterTerms } = indexed;
      const entry = [position, conversation_id, id, created_at, user, cost, latency, waits_until, cited, filterTerms];
      yield* execute(writeEntry, ...entry);
    }
    yield* execute(flushRemoved);
    for (const { position, indexed } of messages) {
      yield* execute(addTokens, position, `${indexed.words} ${indexed.filterTerms}`);
    }
  },

  *putChunks(chunks, nextPosition) {
    const placed: (FoundChunk & { position: number; isNew: boolean })[] = [];
    for (const chunk of chunks) {
      const entry = yield* first(findChunk, chunk.dataset_id, chunk.kind, chunk.id);
      const isNew = entry === undefined;
      if (isNew && chunk.content === undefined) continue;
      placed.push({ ...chunk, position: entry?.position ?? (yield* nextPosition()), isNew });
    }
    // FTS5 writes to the file at each position that is before the last one.
    placed.sort((one, other) => one.position - other.position);
    for (const { kind, dataset_id, id, content, position, isNew } of placed) {
      if (!isNew) yield* execute(removeChunkTokens, position);
      if (content === undefined) yield* execute('DELETE FROM search_chunks WHERE position = ?', position);
      else {
        if (isNew) yield* execute(addChunk, position, dataset_id, kind, id);
        yield* execute(addChunkTokens, position, tokensWithIds([content], [id]).join(' '));
      }
    }
  },

  *removeTokens(conversation_ids, message_id) {
    for (const id of conversation_ids) {
      const entries = message_id === undefined ? query(findEntries, id) : query(findEntry, id, message_id);
      for (const entry of yield* entries) if (!(yield* removeEntry(entry))) return;
    }
  },
};

/** To be run before the text of a message is replaced by another one. */
export function* eraseReplaced({ conversation_id, id, doc, items }: SpooledOf<'message'>): Write<void> {
  const entry = yield* first(findEntry, conversation_id, id);
  if (entry === undefined) return;
  const end = Buffer.from(items.length === 0 ? '}' : `,"items":${itemsText(items)}}`);
  if (Buffer.from(entry.text).equals(Buffer.concat([doc.subarray(0, -1), end]))) return;
  if (yield* removeEntry(entry)) yield* execute(clearFilterTerms, entry.position);
}

/** False if the index was made by other rules: its tokens are not known, so it was made empty. */
function* removeEntry({ position, filter_terms, text }: IndexEntry): Write<boolean> {
  if ((yield* first(sql.findState))?.rules !== tokenRules) {
    yield* emptyIndex(index, '');
    return false;
  }
  yield* execute(removeTokens, position, `${wordsOf(JSON.parse(text))} ${filter_terms}`);
  return true;
}
