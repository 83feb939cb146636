import type { ConversationListed, UsageListed } from '../../contract/activity.ts';
import { canonicalId } from '../../contract/primitives.ts';
import type { ActivityReads, UsageQuestion } from '../../domain/activity-reads.ts';
import type { ListPlace } from '../../domain/admin-reads.ts';
import { dayText } from '../../domain/usage.ts';
import type { Engine, Row, Value } from '../engine.ts';
import * as sql from './activity-statements.ts';
import { type List, page } from './admin-statements.ts';

/** What goes on in apps, over either engine. */
export class SqlActivityReads implements ActivityReads {
  readonly #engine: Engine;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  async #conversations(statement: string, ...values: Value[]): Promise<ConversationListed[]> {
    return (await this.#engine.read(statement, ...values)).map(conversationOf);
  }

  #list(list: List, place: ListPlace, ...values: Value[]): Promise<ConversationListed[]> {
    return this.#conversations(...page(list, values, place));
  }

  listConversations(app_id: string, place: ListPlace): Promise<ConversationListed[]> {
    return this.#list(sql.conversations, place, app_id);
  }

  async findConversation(app_id: string, id: string): Promise<ConversationListed | undefined> {
    return (await this.#conversations(sql.findConversation, app_id, id))[0];
  }

  /** A part of each that is asked for, until there are enough: each is one range of an index. */
  async searchConversations(app_id: string, search: string, place: ListPlace): Promise<ConversationListed[]> {
    const { after, count } = place;
    const [stage, user, ...within] = after ?? [];
    const id = canonicalId(search);
    const found: ConversationListed[] = [];
    if (stage === undefined) {
      const named = await this.findConversation(app_id, id);
      if (named !== undefined) found.push(named);
    }
    const isAmong = stage === 1 && typeof user === 'string';
    if (isAmong) {
      found.push(...(await this.#list(sql.conversationsOfUser, { after: within, count }, app_id, user, id)));
    }
    if (found.length >= count) return found;
    const end = nextAfter(search);
    const statement = sql.conversationsOfUsers(isAmong ? '>' : '>=', end !== undefined);
    const range = [isAmong ? user : search, ...(end === undefined ? [] : [end])];
    found.push(...(await this.#conversations(statement, app_id, ...range, id, count - found.length)));
    return found;
  }

  async listUsage(question: UsageQuestion, place: ListPlace): Promise<UsageListed[]> {
    const rows = await this.#engine.read(...sql.usage(this.#engine.dialect.usageDays, question, place));
    return rows.map(usageOf);
  }
}

/** The first text, by its bytes, that is greater than all that begin with this one; undefined where there is none. */
function nextAfter(start: string): string | undefined {
  const points = Array.from(start, (char) => char.codePointAt(0) ?? 0);
  while (points.at(-1) === lastPoint) points.pop();
  const last = points.pop();
  if (last === undefined) return undefined;
  // The points between these two are no characters.
  return String.fromCodePoint(...points, last === 0xd7ff ? 0xe000 : last + 1);
}

const lastPoint = 0x10ffff;

function conversationOf(row: Row): ConversationListed {
  const { id, user, created_at, message_count, last_message_at } = row as ConversationListed;
  return { id, user, created_at, message_count, last_message_at: message_count === 0 ? null : last_message_at };
}

type UsageRow = Omit<UsageListed, 'day' | 'price'> & { day: number; price_nanos: number };

function usageOf(row: Row): UsageListed {
  const { day, app_id, app_name, currency, messages, tokens, price_nanos } = row as UsageRow;
  const price = price_nanos / 1e9;
  return { day: dayText(day), app_id, app_name, currency: currency || null, messages, tokens, price };
}
