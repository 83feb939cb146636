import { newVersion } from '../../domain/version.ts';
import {
  type MessageTables,
  messageColumns,
  messageValues,
  type OpenedConversation,
  type StoredMessage,
  stateOrGiven,
  valuesAfterText,
} from '../base/message-tables.ts';
import { execute, first, type Statement } from '../base/statement.ts';
import { updateActivityWhere } from '../tables/conversation-columns.ts';
import { eraseReplaced } from './search.ts';

/** Writes nothing if the message already exists. The text is bound as bytes. Parameters: as in `messageColumns`. */
const insertMessage = `
  INSERT INTO messages (${Object.keys(messageColumns).join(', ')})
  VALUES (?, ?, ?, ?, CAST(? AS TEXT), ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (conversation_id, id) DO NOTHING`;
/** A message's position, the fields for its usage, and those that a record may omit. */
export const findMessage: Statement<StoredMessage & { sequence: number }> = `
  SELECT conversation_id, id, created_at, sequence, doc ->> 'total_tokens' AS total_tokens,
    doc ->> 'total_price' AS total_price, doc ->> 'currency' AS currency, doc ->> 'feedback' AS feedback,
    doc ->> 'inputs' AS inputs, doc ->> 'status' AS status, feedback_content, rated_at, model_provider, model
  FROM messages WHERE conversation_id = ? AND id = ?`;
/** Parameters: created_at, doc as bytes, the columns after it, conversation_id, id. */
export const replaceMessage = `
  UPDATE messages SET created_at = ?, doc = CAST(? AS TEXT), feedback_content = ?, rated_at = ?, model_provider = ?, model = ?,
    trace_id = ?, items = ?, feedback_at = ?, review_state = ${stateOrGiven('?')},
    listed_app_id = COALESCE(?, listed_app_id)
  WHERE conversation_id = ? AND id = ?`;

export const findConversation: Statement<{
  app_id: string;
  next_sequence: number;
  first_message_at: number | null;
}> = 'SELECT app_id, next_sequence, first_message_at FROM conversations WHERE conversation_id = ?';
const advance = (more: string): string => `
  UPDATE conversations SET next_sequence = ?, version = ?,
    last_message_at = CASE WHEN first_message_at IS NULL THEN ? ELSE MAX(last_message_at, ?) END,
    updated_at = MAX(updated_at, ?), has_large_messages = MAX(has_large_messages, ?) ${more}
  WHERE conversation_id = ?`;
/** After new messages, none of them the first. Parameters: next_sequence, version, newest time three times,
 * whether one is large, conversation_id. */
export const advanceConversation = advance('');
/** If one of them is the first: its time, derived_name and derived_inputs are parameters before conversation_id. */
const beginConversation = advance(', first_message_at = ?, derived_name = ?, derived_inputs = ?');

export const updateActivity = updateActivityWhere('sqlite', 'conversation_id = ?');

/**
 * An insert finds out whether a message is stored: only those that are stored are looked up. A read and an UPDATE are faster
 * than an UPDATE with RETURNING, which collects its rows in a temporary table.
 */
export const messages: MessageTables = {
  *open(added, count) {
    const opened: OpenedConversation[] = [];
    for (const [id, { newest, oldest, hasLarge }] of added) {
      const row = yield* first(findConversation, id);
      if (row === undefined) continue;
      const { app_id, next_sequence, first_message_at } = row;
      const values = [next_sequence + count, newVersion(), newest, newest, newest, hasLarge];
      if (first_message_at !== null && first_message_at <= oldest.created_at) {
        yield* execute(advanceConversation, ...values, id);
        opened.push({ conversation_id: id, app_id, first_sequence: next_sequence, first_message_at });
      } else {
        const { created_at, derived_name, derived_inputs } = oldest;
        yield* execute(beginConversation, ...values, created_at, derived_name, derived_inputs, id);
        opened.push({ conversation_id: id, app_id, first_sequence: next_sequence, first_message_at: created_at });
      }
    }
    return opened;
  },

  *findStored(written) {
    const stored: StoredMessage[] = [];
    for (const one of written) {
      const { conversation_id, id, doc } = one.message;
      if ((yield* execute(insertMessage, ...messageValues(one, doc))) > 0) continue;
      const row = yield* first(findMessage, conversation_id, id);
      if (row !== undefined) stored.push(row);
    }
    return stored;
  },

  *write(written, stored) {
    if (stored.length === 0) return;
    const keys = new Set(stored.map(({ conversation_id, id }) => `${conversation_id} ${id}`));
    for (const one of written) {
      const { message } = one;
      const { conversation_id, id, created_at, doc } = message;
      if (!keys.has(`${conversation_id} ${id}`)) continue;
      yield* eraseReplaced(message);
      yield* execute(replaceMessage, created_at, doc, ...valuesAfterText(one), conversation_id, id);
    }
  },

  *updateActivity(conversation_ids) {
    for (const id of conversation_ids) yield* execute(updateActivity, id);
  },
};
