import { newVersion } from '../../../domain/version.ts';
import {
  type MessageTables,
  type OpenedConversation,
  openConversation,
  openValues,
  type StoredMessage,
} from '../../base/message-tables.ts';
import { execute, first, query } from '../../base/statement.ts';
import * as oneServer from '../server/messages.ts';
import * as citus from './statements.ts';

/** Up to this number, one statement for each row is faster than one statement that Citus sends to the nodes in parts. */
export const singleRowsMax = 10;

/** Few rows one by one, each on its shard; many at once. */
export const messages: MessageTables = {
  *open(added, count) {
    if (added.size > singleRowsMax) return yield* oneServer.messages.open(added, count);
    const opened: OpenedConversation[] = [];
    const unique = newVersion();
    for (const [id, newMessages] of added) {
      opened.push(...(yield* query(openConversation, ...openValues(id, newMessages, count, `${unique}.${id}`))));
    }
    return opened;
  },

  *findStored(written) {
    const candidates = written.flatMap(({ message, mayExist }) => (mayExist ? [message] : []));
    if (candidates.length > singleRowsMax) {
      const conversations = candidates.map(({ conversation_id }) => conversation_id);
      const ids = candidates.map(({ id }) => id);
      return yield* query(citus.findManyStoredMessages, conversations, ids);
    }
    const stored: StoredMessage[] = [];
    for (const [conversation_id, group] of Map.groupBy(candidates, (message) => message.conversation_id)) {
      const ids = group.map(({ id }) => id);
      stored.push(...(yield* query(citus.findStoredMessages, conversation_id, ids)));
    }
    return stored;
  },

  write: oneServer.messages.write,

  /** Rare, and Citus does not support the statement for many. */
  *updateActivity(conversation_ids) {
    for (const id of conversation_ids) {
      const newest = yield* first(citus.findNewestTime, id);
      const oldest = yield* first(citus.findFirst, id);
      const { created_at = null, derived_name = null, derived_inputs = null } = oldest ?? {};
      yield* execute(citus.setActivity, id, newest?.created_at ?? null, created_at, derived_name, derived_inputs);
    }
  },
};
