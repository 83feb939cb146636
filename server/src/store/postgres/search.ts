import { limits } from '../../contract/limits.ts';
import type { ModelFields } from '../../domain/records/usage.ts';
import { indexedMessage, tokensWithIds } from '../../domain/words/search-document.ts';
import type { FoundMessage, IndexTables, MessageKey } from '../search/index-tables.ts';
import * as sql from '../search/statements.ts';
import { execute, first, query, type Statement } from '../statement.ts';
import { listsOf } from './run-write.ts';

/**
 * The tokens in `tsvector` columns. A message is locked while it is indexed. A writer that erases or replaces its text does
 * that first and then removes it from the index, so the index never has a text that is not stored.
 */

/**
 * Without large texts: these are read one by one, so that other requests are handled between the words of two. Uses one shard
 * of a distributed database, which could not lock rows on several. Parameters: conversation_id, ids.
 */
const lockMessages: Statement<ModelFields & { id: string; doc: string | null }> = `
  SELECT id, CASE WHEN octet_length(doc) <= ${limits.joinedDocBytesMax} THEN doc END AS doc, model_provider, model
  FROM messages WHERE conversation_id = ? AND id = ANY(?) FOR SHARE`;
const findDoc: Statement<{ doc: string }> = 'SELECT doc FROM messages WHERE conversation_id = ? AND id = ?';
const findConversations: Statement<{
  conversation_id: string;
  app_id: string;
  user: string | null;
  deleted: number;
}> = 'SELECT conversation_id, app_id, "user", deleted FROM conversations WHERE conversation_id = ANY(?)';
const findEntries: Statement<MessageKey & { position: number; created_at: number }> = `
  SELECT conversation_id, id, position, created_at FROM search_messages WHERE conversation_id = ANY(?) AND id = ANY(?)`;
/** Parameters: a list for each column; that of the tokens has texts with spaces between tokens. */
const writeEntries = `
  INSERT INTO search_messages (position, conversation_id, id, created_at, "user", cost, latency, waits_until, tokens)
  SELECT position, conversation_id, id, created_at, "user", cost, latency, waits_until,
    array_to_tsvector(string_to_array(tokens, ' '))
  FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[], $5::text[], $6::double precision[],
    $7::double precision[], $8::bigint[], $9::text[])
    AS entry (position, conversation_id, id, created_at, "user", cost, latency, waits_until, tokens)
  ON CONFLICT (conversation_id, id) DO UPDATE SET position = excluded.position, created_at = excluded.created_at,
    "user" = excluded."user", cost = excluded.cost, latency = excluded.latency, waits_until = excluded.waits_until,
    tokens = excluded.tokens`;
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

export const index: IndexTables = {
  empty: ['TRUNCATE search_messages', 'TRUNCATE search_chunks'],
  findMax: limits.indexWriteMax,

  *find(keys) {
    if (keys.length === 0) return [];
    const groups = byConversation(keys);
    const ids = groups.map(([id]) => id);
    const conversations = new Map((yield* query(findConversations, ids)).map((row) => [row.conversation_id, row]));
    const allIds = keys.map(({ id }) => id);
    const entries = new Map((yield* query(findEntries, ids, allIds)).map((row) => [messageKeyOf(row), row]));
    const messages: FoundMessage[] = [];
    for (const [conversation_id, group] of groups) {
      const conversation = conversations.get(conversation_id);
      const rows = yield* query(lockMessages, conversation_id, group.map(({ id }) => id).sort());
      const found = new Map(rows.map((row) => [row.id, row]));
      for (const { id } of group) {
        const { position = null, created_at = null } = entries.get(messageKeyOf({ conversation_id, id })) ?? {};
        const isGone = conversation === undefined || conversation.deleted === 1;
        const message = found.get(id);
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
    yield* execute(writeEntries, ...listsOf(rows));
  },

  *putChunk({ kind, dataset_id, id }, content) {
    if (content === undefined) {
      const remove = 'DELETE FROM search_chunks WHERE dataset_id = ? AND kind = ? AND id = ?';
      yield* execute(remove, dataset_id, kind, id);
      return;
    }
    const last = yield* first(sql.findLast('search_chunks'));
    const tokens = tokensWithIds([content], [id]);
    yield* execute(writeChunk, (last?.position ?? 0) + 1, dataset_id, kind, id, tokens);
  },
};
