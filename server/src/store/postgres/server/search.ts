import { limits } from '../../../contract/limits.ts';
import { indexedMessage, tokensWithIds } from '../../../domain/words/search-document.ts';
import {
  type FoundMessage,
  type IndexTables,
  type MessageKey,
  type MessageRow,
  rowColumns,
} from '../../base/index-tables.ts';
import { smallText } from '../../base/sized.ts';
import { execute, first, query, type Statement, type Write } from '../../base/statement.ts';
import { findText, searched } from '../../search/statements.ts';
import { listsOf } from './run-write.ts';

/**
 * The tokens in `tsvector` columns. A message is locked while it is indexed. A writer that erases or replaces its text does
 * that first and then removes it from the index, so the index never has a text that is not stored.
 */

/**
 * Messages with their conversations and entries. Without large texts: these are read one by one, so that other requests are
 * handled between the words of two. In one order, so that two transactions never deadlock. Each table has the condition on
 * `conversation_id`, so that Citus finds its shard. Parameters: conversation ids, ids.
 */
const lockMessages: Statement<MessageKey & MessageRow> = `
  SELECT m.conversation_id, m.id, ${smallText(searched)} AS text, ${rowColumns}
  FROM messages m
  JOIN conversations c ON c.conversation_id = m.conversation_id
  LEFT JOIN search_messages s
    ON s.conversation_id = m.conversation_id AND s.id = m.id AND s.conversation_id = ANY($1) AND s.id = ANY($2)
  WHERE m.conversation_id = ANY($1)/*@*/ AND m.id = ANY($2) AND c.conversation_id = ANY($1)
  ORDER BY m.conversation_id, m.id FOR SHARE OF m`;
const entryColumns = 'position, conversation_id, id, created_at, "user", cost, latency, waits_until, cited';
/** Parameters: a list for each column; that of the tokens has texts with spaces between tokens. */
const insertEntries = `
  INSERT INTO search_messages (${entryColumns}, tokens)
  SELECT ${entryColumns}, array_to_tsvector(string_to_array(tokens, ' '))
  FROM unnest($1::bigint[], $2::text[]/*@*/, $3::text[], $4::bigint[], $5::text[], $6::double precision[],
    $7::double precision[], $8::bigint[], $9::text[], $10::text[]) AS entry (${entryColumns}, tokens)`;
const writeEntries = `
  ${insertEntries}
  ON CONFLICT (conversation_id, id) DO UPDATE SET position = excluded.position, created_at = excluded.created_at,
    "user" = excluded."user", cost = excluded.cost, latency = excluded.latency, waits_until = excluded.waits_until,
    cited = excluded.cited, tokens = excluded.tokens`;
/** Two conversations may have messages of the same id. The first two conditions find the shards and the rows. Parameters: `keyLists`. */
const isKey = `conversation_id = ANY(?)/*@*/ AND id = ANY(?) AND conversation_id || ' ' || id = ANY(?)`;
const deleteEntries = `DELETE FROM search_messages WHERE ${isKey}`;
const clearTokens = `UPDATE search_messages SET tokens = NULL WHERE ${isKey} AND tokens IS NOT NULL`;
const writeChunk = `
  INSERT INTO search_chunks (position, dataset_id, kind, id, tokens)
  VALUES (?, ?/*@*/, ?, ?, array_to_tsvector(CAST(? AS text[])))
  ON CONFLICT (dataset_id, kind, id) DO UPDATE SET tokens = excluded.tokens`;
const removeChunk = 'DELETE FROM search_chunks WHERE dataset_id = ?/*@*/ AND kind = ? AND id = ?';

const messageKeyOf = ({ conversation_id, id }: MessageKey): string => `${conversation_id} ${id}`;
const conversationsOf = (messages: readonly MessageKey[]): string[] => [
  ...new Set(messages.map(({ conversation_id }) => conversation_id)),
];
const keyLists = (messages: readonly MessageKey[]): string[][] => [
  conversationsOf(messages),
  messages.map(({ id }) => id),
  messages.map(messageKeyOf),
];

/** To be run after the texts were replaced. */
export const eraseReplaced = (messages: readonly MessageKey[]): Write<number> =>
  execute(clearTokens, ...keyLists(messages));

type Options = {
  /** At most this many messages are found at once. */
  findMax: number;
  /** Those that one statement locks; by default all. */
  groupsOf?(keys: readonly MessageKey[]): Write<(readonly MessageKey[])[]>;
  /** Whether entries are deleted before they are inserted again. By default the insertion replaces them. */
  deletesFirst?: boolean;
};

export const indexTables = ({ findMax, groupsOf, deletesFirst = false }: Options): IndexTables => ({
  empty: ['TRUNCATE search_messages', 'TRUNCATE search_chunks', 'TRUNCATE search_citations'],
  findMax,

  *find(keys) {
    if (keys.length === 0) return [];
    const messages: FoundMessage[] = [];
    for (const group of groupsOf === undefined ? [keys] : yield* groupsOf(keys)) {
      const rows = yield* query(
        lockMessages,
        conversationsOf(group),
        group.map(({ id }) => id),
      );
      const found = new Map(rows.map((row) => [messageKeyOf(row), row]));
      for (const { conversation_id, id } of group) {
        const row = found.get(messageKeyOf({ conversation_id, id }));
        const { position = null, created_at = null, cited = null } = row ?? {};
        const text = row?.deleted === 0 ? (row.text ?? (yield* first(findText, conversation_id, id))?.text) : undefined;
        const indexed = row === undefined || text === undefined ? undefined : indexedMessage(text, row);
        messages.push({ conversation_id, id, position, created_at, cited, isGone: indexed === undefined, indexed });
      }
    }
    return messages;
  },

  *remove(messages) {
    const removed = messages.filter(({ isGone, position }) => isGone || (deletesFirst && position !== null));
    if (removed.length > 0) yield* execute(deleteEntries, ...keyLists(removed));
  },

  *add(messages) {
    if (messages.length === 0) return;
    const rows = messages.map(({ position, conversation_id, id, indexed }) => {
      const { created_at, user, cost, latency, waits_until, cited, words, filterTerms } = indexed;
      const tokens = `${words} ${filterTerms}`;
      return [position, conversation_id, id, created_at, user, cost, latency, waits_until, cited, tokens];
    });
    yield* execute(deletesFirst ? insertEntries : writeEntries, ...listsOf(rows));
  },

  *putChunks(chunks, nextPosition) {
    for (const { kind, dataset_id, id, content } of chunks) {
      if (content === undefined) yield* execute(removeChunk, dataset_id, kind, id);
      else {
        const tokens = tokensWithIds([content], [id]);
        yield* execute(writeChunk, yield* nextPosition(), dataset_id, kind, id, tokens);
      }
    }
  },
});

/** On one server. */
export const index = indexTables({ findMax: limits.indexWriteMax });
