import type { AppDetails } from '../../contract/app.ts';
import type { ModelType } from '../../contract/model.ts';
import type { Listed } from '../../domain/large-text.ts';
import type {
  AppStore,
  ConversationPosition,
  ConversationQuery,
  ConversationRow,
  ConversationRows,
  FeedbackEntry,
  FeedbackKey,
} from '../../domain/store/app-store.ts';
import type { ReadEngine, Reader } from '../base/engine.ts';
import { listedOf } from '../base/sized.ts';
import { columnsOf } from '../tables/tables.ts';
import * as sql from './statements.ts';

/** Operations of app keys besides messages, on either engine, from current data or from a snapshot. */
export class SqlAppStore implements AppStore {
  readonly #engine: ReadEngine;
  readonly #readSlowly: Reader;

  /** `readSlowly`: for reads of many messages, which may be large. */
  constructor(engine: ReadEngine, readSlowly: Reader) {
    this.#engine = engine;
    this.#readSlowly = readSlowly;
  }

  async findDetails(app_id: string): Promise<AppDetails | undefined> {
    const [row] = await this.#engine.read(sql.findDetails, app_id);
    if (row === undefined) return undefined;
    const { name, mode, details } = row;
    return { name, mode, ...(detailsColumn?.read(details) as Omit<AppDetails, 'name' | 'mode'>) };
  }

  async listConversations(query: ConversationQuery): Promise<ConversationRows | undefined> {
    const { limit, after } = query;
    const isReadFirst = after !== undefined && this.#engine.dialect.readsCursorFirst;
    const start = isReadFirst ? await this.#findPosition(query, after) : after;
    if (isReadFirst && start === undefined) return undefined;
    const rows = await this.#engine.read(...sql.conversations({ ...query, after: start }));
    if (rows.length === 0 && after !== undefined && !(await this.#findPosition(query, after))) return undefined;
    const items = rows.slice(0, limit).map((row) => {
      const { id, created_at, updated_at } = row;
      return listedOf(row, { id, created_at, updated_at }, (): ConversationRow => row);
    });
    return { items, has_more: rows.length > limit };
  }

  /** The position with its value. Undefined if it has none, and the conversation is not in the list. */
  async #findPosition(
    query: ConversationQuery,
    after: ConversationPosition,
  ): Promise<ConversationPosition | undefined> {
    if (after.value !== undefined) return after;
    const [row] = await this.#engine.read(...sql.findValue(query, after.id));
    return row && { id: after.id, value: row.value };
  }

  async readConversation(id: string): Promise<ConversationRow | undefined> {
    return (await this.#engine.read(sql.findConversationRow, id))[0];
  }

  async listFeedback(app_id: string, offset: number, count: number): Promise<Listed<FeedbackEntry, FeedbackKey>[]> {
    const rows = await this.#readSlowly(sql.listFeedback, app_id, count, offset);
    return rows.map((row) => {
      const { conversation_id, message_id } = row;
      return listedOf(row, { conversation_id, message_id }, (): FeedbackEntry => row);
    });
  }

  async readFeedback({ conversation_id, message_id }: FeedbackKey): Promise<FeedbackEntry | undefined> {
    return (await this.#readSlowly(sql.findFeedback, conversation_id, message_id))[0];
  }

  async listModelEntries(workspace_id: string, model_type: ModelType): Promise<Listed<string, number>[]> {
    const rows = await this.#engine.read(sql.listModelEntries, workspace_id, model_type);
    return rows.map((row) => listedOf(row, row.position, ({ entry }) => entry));
  }

  async readModelEntry(workspace_id: string, model_type: ModelType, position: number): Promise<string | undefined> {
    return (await this.#engine.read(sql.findModelEntry, workspace_id, model_type, position))[0]?.entry;
  }
}

const detailsColumn = columnsOf('app').find(({ name }) => name === 'details');
