import type { ConversationListed } from '../../contract/console/activity.ts';
import { derivedName } from '../../domain/records/conversation-name.ts';
import type { ActivityReads } from '../../domain/store/activity-reads.ts';
import type { ReadEngine, Scan } from '../base/engine.ts';
import * as sql from './activity-statements.ts';
import { readSums } from './period-sums.ts';
import { readSummaries } from './summaries.ts';

/** Reads conversations and usage of apps, on either engine. */
export function activityReads(engine: ReadEngine, scan: Scan): ActivityReads {
  const findConversation: ActivityReads['findConversation'] = async (app_id, id) =>
    (await engine.read(sql.findListedConversation, id, app_id, id)).map(conversationOf)[0];
  return {
    findConversation,
    listSummaries: (selection, ids, range) => readSummaries(engine, selection, ids, range),
    findNewer: async (app_id, conversation_id, message_id, distance) => {
      const beginning = { created_at: Number.MIN_SAFE_INTEGER, sequence: 0 };
      const [position] =
        message_id !== undefined
          ? await engine.read(sql.findPosition, conversation_id, app_id, message_id)
          : (await findConversation(app_id, conversation_id)) === undefined
            ? []
            : [beginning];
      if (position === undefined) return undefined;
      const { created_at, sequence } = position;
      const [row] = await engine.read(sql.findNewer, conversation_id, created_at, sequence, distance - 1);
      return row?.id ?? null;
    },
    listDetails: (app_id, conversation_id, message_ids) => {
      const { isIn, list } = engine.dialect;
      return engine.read(sql.details(isIn('m.id')), conversation_id, app_id, list(message_ids));
    },
    sumPeriod: (wanted, signal) => scan((read) => readSums(read, wanted), signal),
  };
}

function conversationOf(row: sql.ListedConversationRow): ConversationListed {
  const { id, user, created_at, updated_at, message_count, last_message_at } = row;
  const name = row.name ?? derivedName.withoutQuery;
  const times = { last_message_at: message_count === 0 ? null : last_message_at, updated_at };
  return { id, user, name, created_at, message_count, ...times };
}
