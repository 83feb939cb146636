import { limits } from '../../contract/limits.ts';
import type { ModelFields } from '../../domain/records/usage.ts';
import { indexedMessage, tokensWithIds } from '../../domain/words/search-document.ts';
import type { FoundMessage, IndexTables, MessageKey } from '../search/index-tables.ts';
import { execute, first, query, type Scalar, type Statement, type Write } from '../statement.ts';
import { listsOf } from './run-write.ts';

/**
 * The tokens in `tsvector` columns. A message is locked while it is indexed. A writer that erases or replaces its text does
 * that first and then removes it from the index, so the index never has a text that is not stored.
 */

/**
 * Without large texts: these are read one by one, so that other requests are handled between the words of two. In one order,
 * so that two transactions never deadlock. Parameters: conversation ids, ids.
 */
const lockMessages: Statement<MessageKey & ModelFields & { doc: string | null }> = `
  SELECT conversation_id, id, CASE WHEN octet_length(doc) <= ${limits.joinedDocBytesMax} THEN doc END AS doc,
    model_provider, model
  FROM messages WHERE conversation_id = ANY(?) AND id = ANY(?) ORDER BY conversation_id, id FOR SHARE`;
const findDoc: Statement<{ doc: string }> = 'SELECT doc FROM messages WHERE conversation_id = ? AND id = ?';
const findConversations: Statement<{
  conversation_id: string;
  app_id: string;
  user: string | null;
  deleted: number;
}> = 'SELECT conversation_id, app_id, "user", deleted FROM conversations WHERE conversation_id = ANY(?)';
const findEntries: Statement<MessageKey & { position: number; created_at: number }> = `
  SELECT conversation_id, id, position, created_at FROM search_messages WHERE conversation_id = ANY(?) AND id = ANY(?)`;
const entryColumns = 'position, conversation_id, id, created_at, "user", cost, latency, waits_until';
const replaceEntry = `
  ON CONFLICT (conversation_id, id) DO UPDATE SET position = excluded.position, created_at = excluded.created_at,
    "user" = excluded."user", cost = excluded.cost, latency = excluded.latency, waits_until = excluded.waits_until,
    tokens = excluded.tokens`;
/** Parameters: a list for each column; that of the tokens has texts with spaces between tokens. */
const writeEntries = `
  INSERT INTO search_messages (${entryColumns}, tokens)
  SELECT ${entryColumns}, array_to_tsvector(string_to_array(tokens, ' '))
  FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[], $5::text[], $6::double precision[],
    $7::double precision[], $8::bigint[], $9::text[]) AS entry (${entryColumns}, tokens)
  ${replaceEntry}`;
/** The same with a parameter for each value. Citus would copy the rows of a list to all nodes before it inserts them. */
export const writeEntriesOf = (rows: readonly unknown[]): string => `
  INSERT INTO search_messages (${entryColumns}, tokens)
  VALUES ${rows.map(() => `(?, ?, ?, ?, ?, ?, ?, ?, array_to_tsvector(string_to_array(?, ' ')))`).join(', ')}
  ${replaceEntry}`;
const deleteEntries = 'DELETE FROM search_messages WHERE conversation_id = ? AND id = ANY(?)';
/** To be run after the texts were replaced. Parameters: conversation ids, message ids. */
export const eraseReplaced = `
  UPDATE search_messages SET tokens = NULL WHERE conversation_id = ANY(?) AND id = ANY(?) AND tokens IS NOT NULL`;
const writeChunk = `
  INSERT INTO search_chunks (position, dataset_id, kind, id, tokens)
  VALUES (?, ?, ?, ?, array_to_tsvector(CAST(? AS text[])))
  ON CONFLICT (dataset_id, kind, id) DO UPDATE SET tokens = excluded.tokens`;

const messageKeyOf = ({ conversation_id, id }: MessageKey): string => `${conversation_id} ${id}`;
const byConversation = <M extends MessageKey>(messages: readonly M[]): [conversation_id: string, group: M[]][] =>
  [...Map.groupBy(messages, ({ conversation_id }) => conversation_id)].sort(([one], [other]) => (one < other ? -1 : 1));

const conversationsOf = (messages: readonly MessageKey[]): string[] => [
  ...new Set(messages.map(({ conversation_id }) => conversation_id)),
];

type Options = {
  /** At most this many messages are found at once. */
  findMax: number;
  /** Those that one statement locks; by default those of a conversation. */
  groupsOf?(keys: readonly MessageKey[]): Write<(readonly MessageKey[])[]>;
  writeRows?(rows: readonly (readonly Scalar[])[]): Write<unknown>;
};

const writeLists = (rows: readonly (readonly Scalar[])[]) => execute(writeEntries, ...listsOf(rows));

export const indexTables = ({ findMax, groupsOf, writeRows = writeLists }: Options): IndexTables => ({
  empty: ['TRUNCATE search_messages', 'TRUNCATE search_chunks'],
  findMax,

  *find(keys) {
    if (keys.length === 0) return [];
    const ids = conversationsOf(keys);
    const conversations = new Map((yield* query(findConversations, ids)).map((row) => [row.conversation_id, row]));
    const allIds = keys.map(({ id }) => id);
    const entries = new Map((yield* query(findEntries, ids, allIds)).map((row) => [messageKeyOf(row), row]));
    const messages: FoundMessage[] = [];
    const groups = groupsOf === undefined ? byConversation(keys).map(([, group]) => group) : yield* groupsOf(keys);
    for (const group of groups) {
      const rows = yield* query(
        lockMessages,
        conversationsOf(group),
        group.map(({ id }) => id),
      );
      const found = new Map(rows.map((row) => [messageKeyOf(row), row]));
      for (const { conversation_id, id } of group) {
        const key = messageKeyOf({ conversation_id, id });
        const { position = null, created_at = null } = entries.get(key) ?? {};
        const conversation = conversations.get(conversation_id);
        const isGone = conversation === undefined || conversation.deleted === 1;
        const message = found.get(key);
        const doc = message && !isGone ? (message.doc ?? (yield* first(findDoc, conversation_id, id))?.doc) : undefined;
        const indexed =
          isGone || message === undefined || doc === undefined
            ? undefined
            : indexedMessage(doc, { ...message, ...conversation });
        messages.push({ conversation_id, id, position, created_at, isGone, indexed });
      }
    }
    return messages;
  },

  *remove(messages) {
    const gone = messages.filter(({ isGone }) => isGone);
    for (const [conversation_id, group] of byConversation(gone)) {
      yield* execute(deleteEntries, conversation_id, group.map(({ id }) => id).sort());
    }
  },

  *add(messages) {
    if (messages.length === 0) return;
    const rows = messages.map(({ position, conversation_id, id, indexed }) => {
      const { created_at, user, cost, latency, waits_until, words, filterTerms } = indexed;
      return [position, conversation_id, id, created_at, user, cost, latency, waits_until, `${words} ${filterTerms}`];
    });
    yield* writeRows(rows);
  },

  *putChunk({ kind, dataset_id, id }, content, nextPosition) {
    if (content === undefined) {
      const remove = 'DELETE FROM search_chunks WHERE dataset_id = ? AND kind = ? AND id = ?';
      yield* execute(remove, dataset_id, kind, id);
      return;
    }
    const tokens = tokensWithIds([content], [id]);
    yield* execute(writeChunk, yield* nextPosition(), dataset_id, kind, id, tokens);
  },
});

/** On one server. */
export const index = indexTables({ findMax: limits.indexWriteMax });
