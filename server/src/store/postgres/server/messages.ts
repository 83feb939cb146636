import { newVersion } from '../../../domain/version.ts';
import {
  addedMessages,
  addedTypes,
  addedValues,
  type MessageTables,
  messageColumns,
  messageValues,
  type OpenedConversation,
  type StoredMessage,
  stateOrGiven,
} from '../../base/message-tables.ts';
import { execute, insertInto, query, type Statement, writeRows } from '../../base/statement.ts';
import { updateActivityWhere } from '../../tables/conversation-columns.ts';
import { eraseReplaced } from './search.ts';

/** Parameters: ids, count, unique part of the version, values of `addedMessages` by id. */
export const openConversations: Statement<OpenedConversation> = `
  UPDATE conversations SET next_sequence = next_sequence + $2, version = $3 || '.' || conversation_id,
    ${addedMessages((name) => `($4::jsonb -> conversation_id ->> '${name}')::${addedTypes[name]}`)}
  WHERE conversation_id = ANY($1)/*@*/
  RETURNING conversation_id, app_id, next_sequence - $2 AS first_sequence, first_message_at`;

/** Parameters: ids. */
export const updateActivity = updateActivityWhere('postgres', 'conversation_id = ANY($1)/*@*/');

const writeMessages = insertInto(
  'messages',
  messageColumns,
  `ON CONFLICT (conversation_id, id) DO UPDATE SET created_at = excluded.created_at, doc = excluded.doc,
    feedback_content = excluded.feedback_content, rated_at = excluded.rated_at,
    model_provider = excluded.model_provider, model = excluded.model,
    trace_id = excluded.trace_id, items = excluded.items, feedback_at = excluded.feedback_at,
    review_state = ${stateOrGiven('excluded.review_state')},
    listed_app_id = COALESCE(excluded.listed_app_id, messages.listed_app_id)`,
);

/** The fields of a stored message `m` for its usage, and those that a record may omit. */
export const storedFields = `m.conversation_id, m.id, m.created_at, f.total_tokens, f.total_price, f.currency, f.feedback,
    f.inputs, f.status, m.feedback_content, m.rated_at, m.model_provider, m.model`;
export const parseStored = `CROSS JOIN LATERAL json_to_record(CAST(m.doc AS json))
    AS f (total_tokens float8, total_price text, currency text, feedback text, inputs text, status text)`;

/**
 * Which of these messages exist. Parameters: conversation ids, ids. `LIMIT` makes PostgreSQL look up each message in the index.
 * Otherwise it reads the whole table for each statement, as long as it has no statistics of the table.
 */
export const findMessages: Statement<StoredMessage> = `
  SELECT ${storedFields}
  FROM unnest($1::text[], $2::text[]) AS given (conversation_id, id)
  CROSS JOIN LATERAL (
    SELECT * FROM messages WHERE conversation_id = given.conversation_id AND id = given.id LIMIT 1
  ) m
  ${parseStored}`;

/** One statement for many rows. */
export const messages: MessageTables = {
  *open(added, count) {
    const values = Object.fromEntries([...added].map(([id, newMessages]) => [id, addedValues(newMessages)]));
    return yield* query(openConversations, [...added.keys()], count, newVersion(), JSON.stringify(values));
  },

  *findStored(written) {
    const candidates = written.flatMap(({ message, mayExist }) => (mayExist ? [message] : []));
    if (candidates.length === 0) return [];
    const conversations = candidates.map(({ conversation_id }) => conversation_id);
    const ids = candidates.map(({ id }) => id);
    return yield* query(findMessages, conversations, ids);
  },

  /** Replaced texts leave the index at once. */
  *write(written, stored) {
    yield* writeRows(
      writeMessages,
      written.map((one) => messageValues(one, one.message.doc.toString())),
    );
    if (stored.length > 0) yield* eraseReplaced(stored);
  },

  *updateActivity(conversation_ids) {
    yield* execute(updateActivity, conversation_ids);
  },
};
