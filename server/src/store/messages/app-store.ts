import type { AppDetails } from '../../contract/app.ts';
import type { AppStore, ConversationPosition, ConversationQuery } from '../../domain/store/app-store.ts';
import type { ReadEngine, Reader } from '../base/engine.ts';
import { listedOf } from '../base/sized.ts';
import { detailsOf } from '../tables/tables.ts';
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
    return { name, mode, ...(detailsOf('app', details) as Omit<AppDetails, 'name' | 'mode'>) };
  },
  listConversations: (query) => listConversations(engine, query),
  listFeedback: async (app_id, offset, count) => {
    const rows = await readSlowly(sql.listFeedback, app_id, count, offset);
    return rows.map((row) =>
      listedOf(row, sameRow, () => readSlowly(sql.findFeedback, row.conversation_id, row.message_id)),
    );
  },
  listModelEntries: async (workspace_id, model_type) => {
    const rows = await engine.read(sql.listModelEntries, workspace_id, model_type);
    const readEntry = (position: number) => engine.read(sql.findModelEntry, workspace_id, model_type, position);
    return rows.map((row) =>
      listedOf(
        row,
        ({ entry }) => entry,
        () => readEntry(row.position),
      ),
    );
  },
});

const sameRow = <R>(row: R): R => row;

async function listConversations(engine: ReadEngine, query: ConversationQuery) {
  const { limit, after } = query;
  const isReadFirst = after !== undefined && engine.dialect.readsCursorFirst;
  const start = isReadFirst ? await findPosition(engine, query, after) : after;
  if (isReadFirst && start === undefined) return undefined;
  const rows = await engine.read(...sql.conversations({ ...query, after: start }));
  if (rows.length === 0 && after !== undefined && !(await findPosition(engine, query, after))) return undefined;
  const items = rows.slice(0, limit).map((row) => {
    const { id, created_at, updated_at } = row;
    return { id, created_at, updated_at, ...listedOf(row, sameRow, () => engine.read(sql.findConversationRow, id)) };
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
