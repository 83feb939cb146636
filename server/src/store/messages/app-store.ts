import type { AppDetails } from '../../contract/app.ts';
import { limits } from '../../contract/limits.ts';
import type {
  AppStore,
  ConversationPosition,
  ConversationQuery,
  ConversationRow,
  FeedbackEntry,
  FoundList,
  OpenList,
} from '../../domain/store/app-store.ts';
import type { Engine, Snapshot } from '../base/engine.ts';
import type { Slots } from '../base/large-responses.ts';
import { columnsOf } from '../tables/tables.ts';
import * as sql from './statements.ts';

/** Operations of app keys besides messages, on either engine. */
export class SqlAppStore implements AppStore {
  readonly #engine: Engine;
  readonly #slots: Slots;

  constructor(engine: Engine, slots: Slots) {
    this.#engine = engine;
    this.#slots = slots;
  }

  async findDetails(app_id: string): Promise<AppDetails | undefined> {
    const [row] = await this.#engine.read(sql.findDetails, app_id);
    if (row === undefined) return undefined;
    const { name, mode, details } = row;
    return { name, mode, ...(detailsColumn?.read(details) as Omit<AppDetails, 'name' | 'mode'>) };
  }

  async listConversations(query: ConversationQuery): Promise<FoundList<ConversationRow> | undefined> {
    const statement = await this.#conversations(query);
    if (statement === undefined) return undefined;
    const foundList = await this.#readList(statement, query.limit);
    const isEmpty = foundList !== 'too_large' && foundList.rows.length === 0;
    return isEmpty && query.after !== undefined && !(await this.#findPosition(query, query.after))
      ? undefined
      : foundList;
  }

  /** Texts over `limits.joinedDocBytesMax` are read only after the size of the page was checked. */
  async #readList(statement: sql.ConversationStatement, limit: number): Promise<FoundList<ConversationRow>> {
    const smallRows = await this.#engine.read(...statement('small'));
    if (smallRows.slice(0, limit).reduce((sum, { bytes }) => sum + bytes, 0) > limits.pageBytesMax) return 'too_large';
    const isWhole = smallRows.every(({ bytes }) => bytes <= limits.joinedDocBytesMax);
    const rows = isWhole ? smallRows : await this.#engine.read(...statement('all'));
    return { rows: rows.slice(0, limit), has_more: rows.length > limit };
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

  /** Undefined if the position was read and does not exist. */
  async #conversations(query: ConversationQuery): Promise<sql.ConversationStatement | undefined> {
    if (query.after === undefined || !this.#engine.dialect.readsCursorFirst) return sql.conversations(query);
    const after = await this.#findPosition(query, query.after);
    return after && sql.conversations({ ...query, after });
  }

  async openConversations(
    query: ConversationQuery,
    signal: AbortSignal,
  ): Promise<OpenList<ConversationRow> | undefined> {
    const statement = await this.#conversations(query);
    if (statement === undefined) return undefined;
    return this.#slots.open(async () => openList(await this.#engine.openSnapshot(), statement('none'), query), signal);
  }

  listFeedback(app_id: string, offset: number, count: number): Promise<FeedbackEntry[]> {
    return this.#engine.read(sql.listFeedback(this.#engine.dialect), app_id, count, offset);
  }
}

async function openList(
  { read, close }: Snapshot,
  statement: ReturnType<sql.ConversationStatement>,
  { limit }: ConversationQuery,
): Promise<OpenList<ConversationRow>> {
  try {
    const rows = await read(...statement);
    const readRows = async (batch: readonly ConversationRow[]) => {
      const whole: ConversationRow[] = [];
      for (const { id } of batch) whole.push(...(await read(sql.findConversationRow, id)));
      return whole;
    };
    return { rows: rows.slice(0, limit), has_more: rows.length > limit, readRows, close };
  } catch (error) {
    close();
    throw error;
  }
}

const detailsColumn = columnsOf('app').find(({ name }) => name === 'details');
