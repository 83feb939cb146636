import { keysOf } from '../../contract/primitives.ts';
import { dayOf, hourOf, type Usage } from '../../domain/records/usage.ts';
import type { UsageSum } from '../../domain/store/activity-reads.ts';
import type { Dialect } from '../base/engine.ts';
import { addInto, type Statement, type Write, writeRows } from '../base/statement.ts';

/** The columns that are sums, with their types on PostgreSQL. */
export const sumTypes = {
  messages: 'bigint',
  tokens: 'float8',
  price_nanos: 'float8',
  liked: 'bigint',
  disliked: 'bigint',
  failed: 'bigint',
} as const;
export type UsageSums = Record<keyof typeof sumTypes, number>;
export const sumColumns = keysOf(sumTypes);
const usageColumns = sumColumns.filter((name) => name !== 'messages');

export type ConversationSums = Omit<UsageSum, 'tokens' | 'liked'> & { conversation_id: string };

/** Sums of each conversation and currency. Parameters: conversation ids. */
export const conversationSums = ({ isIn }: Dialect): Statement<ConversationSums> => `
  SELECT d.conversation_id, d.currency, CAST(SUM(d.messages) AS BIGINT) AS messages,
    CAST(SUM(d.disliked) AS BIGINT) AS disliked, CAST(SUM(d.failed) AS BIGINT) AS failed,
    SUM(d.price_nanos) AS price_nanos
  FROM conversation_days d WHERE ${isIn('d.conversation_id')}/*@*/ GROUP BY d.conversation_id, d.currency`;

/** The usage of a conversation's messages in one hour of a day, or a change of it. */
export type UsageOfDay = UsageSums & Key & { app_id: string };
type Key = Record<'conversation_id' | 'currency' | 'model_provider' | 'model', string> & Record<'day' | 'hour', number>;

export class UsageTally {
  readonly #days = new Map<string, UsageOfDay>();
  #last: UsageOfDay | undefined;

  get size(): number {
    return this.#days.size;
  }

  /** `times` is -1 for the old version of a message that is replaced. */
  add(conversation: { id: string; app_id: string }, created_at: number, usage: Usage, times: 1 | -1): void {
    const sum = this.#sumOf(conversation, created_at, usage);
    sum.messages += times;
    for (const name of usageColumns) sum[name] += times * usage[name];
  }

  /** Consecutive messages mostly belong to one conversation, hour and model, so the last sum is tried first. */
  #sumOf({ id, app_id }: { id: string; app_id: string }, created_at: number, usage: Usage): UsageOfDay {
    const [day, hour] = [dayOf(created_at), hourOf(created_at)];
    const { currency, model_provider, model } = usage;
    const last = this.#last;
    const isSameHour = last?.conversation_id === id && last.day === day && last.hour === hour;
    if (isSameHour && last.currency === currency && last.model === model && last.model_provider === model_provider)
      return last;
    const key = `${id} ${day} ${hour} ${currency}\0${model_provider}\0${model}`;
    let sum = this.#days.get(key);
    if (sum === undefined) {
      const none = { messages: 0, tokens: 0, price_nanos: 0, liked: 0, disliked: 0, failed: 0 };
      this.#days.set(key, (sum = { conversation_id: id, day, hour, currency, model_provider, model, app_id, ...none }));
    }
    this.#last = sum;
    return sum;
  }

  /** Returns the changes so far, in the order of the table's key, so that adjacent rows are written together, and resets them. */
  take(): UsageOfDay[] {
    const changed = [...this.#days.entries()].filter(([, row]) => sumColumns.some((column) => row[column] !== 0));
    this.#days.clear();
    this.#last = undefined;
    return changed.sort(([one], [other]) => (one < other ? -1 : 1)).map(([, row]) => row);
  }
}

const keyTypes = {
  conversation_id: 'text',
  day: 'bigint',
  hour: 'bigint',
  currency: 'text',
  model_provider: 'text',
  model: 'text',
} as const;
const keyColumns = keysOf(keyTypes);
const dayTypes = { ...keyTypes, app_id: 'text', ...sumTypes } as const;
const addDays = addInto('conversation_days', dayTypes, keyColumns, sumColumns);

export function* addUsage(days: readonly UsageOfDay[]): Write<void> {
  yield* writeRows(
    addDays,
    days.map((row) => keysOf(dayTypes).map((column) => row[column])),
  );
}
