import type { AppDetails } from '../../contract/app.ts';
import type {
  AppStore,
  ConversationChange,
  ConversationQuery,
  ConversationRow,
  FoundList,
  ListStream,
  MessageRating,
} from '../../domain/app-store.ts';
import type { Engine } from '../engine.ts';
import { openList, readList } from '../large-list.ts';
import type { LargePages } from '../large-pages.ts';
import { columnsOf } from '../records/tables.ts';
import * as sql from './statements.ts';

/** What app keys allow besides messages, on either engine. */
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
    const foundList = await readList<ConversationRow>(this.#engine, sql.conversations(query));
    const isEmpty = foundList !== 'too_large' && foundList.rows.length === 0;
    return isEmpty && !(await this.#isLastIn(query)) ? undefined : foundList;
  }

  async #isLastIn({ last_id, ...scope }: ConversationQuery): Promise<boolean> {
    return last_id === undefined || (await this.#engine.read(...sql.findInScope(scope, last_id))).length > 0;
  }

  openConversations(
    query: ConversationQuery,
    render: (row: ConversationRow) => string,
    signal: AbortSignal,
  ): Promise<ListStream | undefined> {
    const open = async () => openList(await this.#engine.openSnapshot(), sql.conversations(query), render);
    return this.#largePages.open(open, signal);
  }

  changeConversation(change: ConversationChange): Promise<ConversationRow | undefined> {
    return this.#engine.write('changeConversation', change);
  }

  rateMessage(rating: MessageRating): Promise<'rated' | 'unrated' | 'missing'> {
    return this.#engine.write('rateMessage', rating);
  }
}

const detailsColumn = columnsOf('app').find(({ name }) => name === 'details');
