import type { AppDetails } from '../../contract/app.ts';
import type {
  AppStore,
  ConversationPosition,
  ConversationQuery,
  ConversationRow,
} from '../../domain/store/app-store.ts';
import type { ReadEngine, Reader } from '../base/engine.ts';
import { listedOf } from '../base/sized.ts';
import { columnsOf } from '../tables/tables.ts';
import * as sql from './statements.ts';

/**
 * Operations of app keys besides messages, on either engine, from current data or from a snapshot. `readSlowly`: for reads of many
 * messages, which may be large.
 */
export const appStore = (engine: ReadEngine, readSlowly: Reader): AppStore => ({
  findDetails: async (app_id) => {
    const [row] = await engine.read(sql.findDetails, app_id);
    if (row === undefined) return undefined;
    const { name, mode, details } = row;
    return { name, mode, ...(detailsColumn?.read(details) as Omit<AppDetails, 'name' | 'mode'>) };
  },
  listConversations: (query) => listConversations(engine, query),
  readConversation: async (id) => (await engine.read(sql.findConversationRow, id))[0],
  listFeedback: async (app_id, offset, count) => {
    const rows = await readSlowly(sql.listFeedback, app_id, count, offset);
    return rows.map((row) => {
      const { conversation_id, message_id } = row;
      return listedOf(row, { conversation_id, message_id }, () => row);
    });
  },
  readFeedback: async ({ conversation_id, message_id }) =>
    (await readSlowly(sql.findFeedback, conversation_id, message_id))[0],
  listModelEntries: async (workspace_id, model_type) => {
    const rows = await engine.read(sql.listModelEntries, workspace_id, model_type);
    return rows.map((row) => listedOf(row, row.position, ({ entry }) => entry));
  },
  readModelEntry: async (workspace_id, model_type, position) =>
    (await engine.read(sql.findModelEntry, workspace_id, model_type, position))[0]?.entry,
});

const detailsColumn = columnsOf('app').find(({ name }) => name === 'details');

async function listConversations(engine: ReadEngine, query: ConversationQuery) {
  const { limit, after } = query;
  const isReadFirst = after !== undefined && engine.dialect.readsCursorFirst;
  const start = isReadFirst ? await findPosition(engine, query, after) : after;
  if (isReadFirst && start === undefined) return undefined;
  const rows = await engine.read(...sql.conversations({ ...query, after: start }));
  if (rows.length === 0 && after !== undefined && !(await findPosition(engine, query, after))) return undefined;
  const items = rows.slice(0, limit).map((row) => {
    const { id, created_at, updated_at } = row;
    return listedOf(row, { id, created_at, updated_at }, (): ConversationRow => row);
  });
  return { items, has_more: rows.length > limit };
}

/** The position with its value. Undefined if it has none, and the conversation is not in the list. */
async function findPosition(
  engine: ReadEngine,
  query: ConversationQuery,
  after: ConversationPosition,
): Promise<ConversationPosition | undefined> {
  if (after.value !== undefined) return after;
  const [row] = await engine.read(...sql.findValue(query, after.id));
  return row && { id: after.id, value: row.value };
}
