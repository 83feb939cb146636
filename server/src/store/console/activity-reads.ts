import type { ConversationListed, ConversationSummary, FeedbackText, UsageListed } from '../../contract/activity.ts';
import { canonicalId } from '../../contract/primitives.ts';
import type {
  ActivityReads,
  AppSum,
  DayRange,
  DaySelection,
  DaySum,
  UsageSelection,
  UserSums,
} from '../../domain/activity-reads.ts';
import type { ListRange } from '../../domain/admin-reads.ts';
import { derivedName } from '../../domain/conversation-name.ts';
import { formatDay } from '../../domain/usage.ts';
import type { Engine, Row, ScanSnapshot, Value } from '../engine.ts';
import * as sql from './activity-statements.ts';
import { type List, listPage } from './admin-statements.ts';
import * as overview from './overview-statements.ts';
import { readSummaries } from './summaries.ts';
import * as all from './summary-statements.ts';
import { queryUsers, scanUsers } from './user-sums.ts';

/** Reads conversations and usage of apps, on either engine. */
export class SqlActivityReads implements ActivityReads {
  readonly #engine: Engine;
  readonly #openScan: (() => Promise<ScanSnapshot>) | undefined;

  /** `openScan`: for an engine that reads on this thread. */
  constructor(engine: Engine, openScan: (() => Promise<ScanSnapshot>) | undefined) {
    this.#engine = engine;
    this.#openScan = openScan;
  }

  async #conversations(statement: string, ...values: Value[]): Promise<ConversationListed[]> {
    return (await this.#engine.read(statement, ...values)).map(conversationOf);
  }

  #list(list: List, range: ListRange, ...values: Value[]): Promise<ConversationListed[]> {
    return this.#conversations(...listPage(list, values, range));
  }

  listConversations(app_id: string, range: ListRange): Promise<ConversationListed[]> {
    return this.#list(sql.conversations, range, app_id);
  }

  async findConversation(app_id: string, id: string): Promise<ConversationListed | undefined> {
    return (await this.#conversations(sql.findConversation, id, app_id, id))[0];
  }

  /**
   * In this order, until the page is full: the conversation with this id, the remaining conversations of the user at which
   * the last page ended, those of users whose names begin with the search text. Each step reads one range of an index.
   */
  async searchConversations(app_id: string, search: string, range: ListRange): Promise<ConversationListed[]> {
    const { after, count } = range;
    const [stage, user, ...within] = after ?? [];
    const id = canonicalId(search);
    const page: ConversationListed[] = [];
    if (stage === undefined) {
      const withId = await this.findConversation(app_id, id);
      if (withId !== undefined) page.push(withId);
    }
    const isInUser = stage === 1 && typeof user === 'string';
    if (isInUser) {
      page.push(...(await this.#list(sql.conversationsOfUser, { after: within, count }, app_id, user, id)));
    }
    if (page.length >= count) return page;
    const end = nextAfter(search);
    const statement = sql.conversationsOfUsers(isInUser ? '>' : '>=', end !== undefined);
    const userBounds = [isInUser ? user : search, ...(end === undefined ? [] : [end])];
    page.push(...(await this.#conversations(statement, app_id, ...userBounds, id, count - page.length)));
    return page;
  }

  listSummaries(app_id: string | undefined, range: ListRange): Promise<ConversationSummary[]> {
    const page =
      app_id === undefined ? listPage(all.summaries, [], range) : listPage(all.summariesOfApp, [app_id], range);
    return readSummaries(this.#engine, ...page);
  }

  findSummaries(ids: readonly string[]): Promise<ConversationSummary[]> {
    const { isIn, list } = this.#engine.dialect;
    return readSummaries(this.#engine, all.findSummaries(isIn('c.conversation_id')), list(ids));
  }

  async findNewer(
    app_id: string,
    conversation_id: string,
    message_id: string | undefined,
    distance: number,
  ): Promise<string | null | undefined> {
    const beginning = { created_at: Number.MIN_SAFE_INTEGER, sequence: 0 };
    const [position] =
      message_id !== undefined
        ? await this.#engine.read(sql.findPosition, conversation_id, app_id, message_id)
        : (await this.findConversation(app_id, conversation_id)) === undefined
          ? []
          : [beginning];
    if (position === undefined) return undefined;
    const { created_at, sequence } = position as { created_at: number; sequence: number };
    const [row] = await this.#engine.read(sql.findNewer, conversation_id, created_at, sequence, distance - 1);
    return (row?.id as string | undefined) ?? null;
  }

  async listFeedback(app_id: string, conversation_id: string, message_ids: readonly string[]): Promise<FeedbackText[]> {
    const { isIn, list } = this.#engine.dialect;
    const values = [conversation_id, app_id, list(message_ids)];
    return (await this.#engine.read(sql.feedback(isIn('m.id')), ...values)) as FeedbackText[];
  }

  async listUsage(query: UsageSelection, range: ListRange): Promise<UsageListed[]> {
    const rows = await this.#engine.read(...sql.usage(this.#engine.dialect.usageDays, query, range));
    return rows.map(usageOf);
  }

  async sumDays(selection: DaySelection): Promise<DaySum[]> {
    const { dialect } = this.#engine;
    return (await this.#engine.read(...overview.sumDays(dialect.usageDays, selection))) as DaySum[];
  }

  async sumApps(selection: DaySelection): Promise<AppSum[]> {
    const { dialect } = this.#engine;
    return (await this.#engine.read(...overview.sumApps(dialect.usageDays, selection))) as AppSum[];
  }

  async sumUsers(selection: DaySelection, before: DayRange): Promise<UserSums> {
    if (this.#openScan === undefined) return queryUsers(this.#engine, selection, before);
    return scanUsers(await this.#openScan(), selection, before);
  }
}

/** The smallest text, in byte order, that is greater than all texts with this prefix; undefined if there is none. */
function nextAfter(start: string): string | undefined {
  const points = Array.from(start, (char) => char.codePointAt(0) ?? 0);
  while (points.at(-1) === lastPoint) points.pop();
  const last = points.pop();
  if (last === undefined) return undefined;
  // The code points between these two are surrogates, which are not characters.
  return String.fromCodePoint(...points, last === 0xd7ff ? 0xe000 : last + 1);
}

const lastPoint = 0x10ffff;

function conversationOf(row: Row): ConversationListed {
  const { id, user, created_at, updated_at, message_count, last_message_at } = row as ConversationListed;
  const name = (row.name as string | null) ?? derivedName.withoutQuery;
  const times = { last_message_at: message_count === 0 ? null : last_message_at, updated_at };
  return { id, user, name, created_at, message_count, ...times };
}

type UsageRow = Omit<UsageListed, 'day' | 'price'> & { day: number; price_nanos: number };

function usageOf(row: Row): UsageListed {
  const { day, app_id, app_name, currency, messages, tokens, price_nanos } = row as UsageRow;
  const price = price_nanos / 1e9;
  return { day: formatDay(day), app_id, app_name, currency: currency || null, messages, tokens, price };
}
