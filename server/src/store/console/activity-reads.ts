import type { ConversationListed } from '../../contract/console/activity.ts';
import { limits } from '../../contract/limits.ts';
import { derivedName } from '../../domain/records/conversation-name.ts';
import type { ActivityReads, StoredDetails } from '../../domain/store/activity-reads.ts';
import type { ReadEngine, Scan } from '../base/engine.ts';
import type { Statement } from '../base/statement.ts';
import { readSums } from './overview.ts';
import { readSummaries } from './summaries.ts';

type ListedConversationRow = Omit<ConversationListed, 'name'> & { name: string | null };

/** A distributed database queries one shard only if the id is compared in both tables. Parameters: id, app_id, id. */
export const findListedConversation: Statement<ListedConversationRow> = `
  SELECT c.conversation_id AS id, c."user", COALESCE(c.name, c.derived_name) AS name, c.created_at, c.updated_at,
    c.last_message_at, COALESCE((
      SELECT CAST(SUM(d.messages) AS BIGINT) FROM conversation_days d WHERE d.conversation_id = ?/*@*/
    ), 0) AS message_count
  FROM conversations c WHERE c.app_id = ? AND c.deleted = 0 AND c.conversation_id = ?/*@*/`;

/** Position of a message in the order of its conversation. Parameters: conversation_id, app_id, message id. */
export const findPosition: Statement<{ created_at: number; sequence: number }> = `
  SELECT m.created_at, m.sequence FROM conversations c JOIN messages m ON m.conversation_id = c.conversation_id
  WHERE c.conversation_id = ?/*@*/ AND c.app_id = ? AND c.deleted = 0 AND m.id = ?`;

/** Reads as many entries of the table's key as it passes over. Parameters: conversation_id, created_at, sequence, number. */
export const findNewer: Statement<{ id: string }> = `
  SELECT m.id FROM messages m WHERE m.conversation_id = ?/*@*/ AND (m.created_at, m.sequence) > (?, ?)
  ORDER BY m.created_at, m.sequence LIMIT 1 OFFSET ?`;

/** Oldest message first. `isListed` compares the message's id with the last parameter. The others: conversation_id, app_id. */
export const details = (isListed: string): Statement<StoredDetails> => `
  SELECT m.id AS message_id, substr(m.feedback_content, 1, ${limits.feedbackUnitsMax}) AS feedback_content,
    m.model_provider, m.model, m.trace_id
  FROM conversations c JOIN messages m ON m.conversation_id = c.conversation_id
  WHERE c.conversation_id = ?/*@*/ AND c.app_id = ? AND c.deleted = 0 AND ${isListed}
  ORDER BY m.created_at, m.sequence`;

export function activityReads(engine: ReadEngine, scan: Scan): ActivityReads {
  const findConversation: ActivityReads['findConversation'] = async (app_id, id) =>
    (await engine.read(findListedConversation, id, app_id, id)).map(conversationOf)[0];
  return {
    findConversation,
    listSummaries: (selection, ids, range) => readSummaries(engine, selection, ids, range),
    findNewer: async (app_id, conversation_id, message_id, distance) => {
      const beginning = { created_at: Number.MIN_SAFE_INTEGER, sequence: 0 };
      const [position] =
        message_id !== undefined
          ? await engine.read(findPosition, conversation_id, app_id, message_id)
          : (await findConversation(app_id, conversation_id)) === undefined
            ? []
            : [beginning];
      if (position === undefined) return undefined;
      const { created_at, sequence } = position;
      const [row] = await engine.read(findNewer, conversation_id, created_at, sequence, distance - 1);
      return row?.id ?? null;
    },
    listDetails: (app_id, conversation_id, message_ids) => {
      const { isIn, list } = engine.dialect;
      return engine.read(details(isIn('m.id')), conversation_id, app_id, list(message_ids));
    },
    sumPeriod: (wanted, signal) => scan((read) => readSums(read, wanted), signal),
  };
}

function conversationOf(row: ListedConversationRow): ConversationListed {
  const { id, user, created_at, updated_at, message_count, last_message_at } = row;
  const name = row.name ?? derivedName.withoutQuery;
  const times = { last_message_at: message_count === 0 ? null : last_message_at, updated_at };
  return { id, user, name, created_at, message_count, ...times };
}
