import type { AppDetails } from '../../contract/app.ts';
import type {
  AppStore,
  ConversationChange,
  ConversationPosition,
  ConversationQuery,
  ConversationRow,
  FoundList,
  ListStream,
  MessageRating,
} from '../../domain/store/app-store.ts';
import type { Engine } from '../engine.ts';
import { type LargeList, openList, readList } from '../large-list.ts';
import type { LargePages } from '../large-pages.ts';
import { columnsOf } from '../records/tables.ts';
import * as sql from './statements.ts';

/** Operations of app keys besides messages, on either engine. */
export class SqlAppStore implements AppStore {
  readonly #engine: Engine;
  readonly #largePages: LargePages;

  constructor(engine: Engine, largePages: LargePages) {
    this.#engine = engine;
    this.#largePages = largePages;
  }

  async findDetails(app_id: string): Promise<AppDetails | undefined> {
    const [row] = await this.#engine.read(sql.findDetails, app_id);
    if (row === undefined) return undefined;
    const { name, mode, details } = row as { name: string; mode: string; details: string | null };
    return { name, mode, ...(detailsColumn?.read(details) as Omit<AppDetails, 'name' | 'mode'>) };
  }

  async listConversations(query: ConversationQuery): Promise<FoundList<ConversationRow> | undefined> {
    const list = await this.#conversations(query);
    if (list === undefined) return undefined;
    const foundList = await readList<ConversationRow>(this.#engine, list);
    const isEmpty = foundList !== 'too_large' && foundList.rows.length === 0;
    return isEmpty && query.after !== undefined && !(await this.#findPosition(query, query.after))
      ? undefined
      : foundList;
  }

  /** The position with its value. Undefined if it has none, and the conversation is not in the list. */
  async #findPosition(
    query: ConversationQuery,
    after: ConversationPosition,
  ): Promise<ConversationPosition | undefined> {
    if (after.value !== undefined) return after;
    const [row] = await this.#engine.read(...sql.findValue(query, after.id));
    return row && { id: after.id, value: row.value as number };
  }

  /** Undefined if the position was read and does not exist. */
  async #conversations(query: ConversationQuery): Promise<LargeList | undefined> {
    if (query.after === undefined || !this.#engine.dialect.readsCursorFirst) return sql.conversations(query);
    const after = await this.#findPosition(query, query.after);
    return after && sql.conversations({ ...query, after });
  }

  async openConversations(
    query: ConversationQuery,
    render: (row: ConversationRow) => string,
    signal: AbortSignal,
  ): Promise<ListStream<ConversationRow> | undefined> {
    const list = await this.#conversations(query);
    if (list === undefined) return undefined;
    return this.#largePages.open(async () => openList(await this.#engine.openSnapshot(), list, render), signal);
  }

  changeConversation(change: ConversationChange): Promise<ConversationRow | undefined> {
    return this.#engine.write('changeConversation', change);
  }

  rateMessage(rating: MessageRating): Promise<'rated' | 'unrated' | 'missing'> {
    return this.#engine.write('rateMessage', rating);
  }
}

const detailsColumn = columnsOf('app').find(({ name }) => name === 'details');
