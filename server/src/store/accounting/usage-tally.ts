import { dayOf, type Usage } from '../../domain/usage.ts';

/** The usage of a conversation's messages on one day, or a change of it. */
export type UsageOfDay = {
  conversation_id: string;
  day: number;
  currency: string;
  app_id: string;
  messages: number;
  tokens: number;
  price_nanos: number;
};

/** Adds up the usage of written messages by day. */
export class UsageTally {
  readonly #days = new Map<string, UsageOfDay>();
  #last: UsageOfDay | undefined;

  get size(): number {
    return this.#days.size;
  }

  /** `times` is -1 for the old version of a message that is replaced. */
  add(conversation: { id: string; app_id: string }, created_at: number, usage: Usage, times: 1 | -1): void {
    const sum = this.#sumOf(conversation, dayOf(created_at), usage.currency);
    sum.messages += times;
    sum.tokens += times * usage.tokens;
    sum.price_nanos += times * usage.price_nanos;
  }

  /** Consecutive messages mostly belong to one conversation and day, so the last sum is tried first. */
  #sumOf({ id, app_id }: { id: string; app_id: string }, day: number, currency: string): UsageOfDay {
    const last = this.#last;
    if (last?.conversation_id === id && last.day === day && last.currency === currency) return last;
    this.#last = sumIn(this.#days, `${id} ${day} ${currency}`, { conversation_id: id, day, currency, app_id });
    return this.#last;
  }

  /** Returns the changes so far, in the order of the table's key, so that adjacent rows are written together, and resets them. */
  take(): UsageOfDay[] {
    const changed = [...this.#days.entries()].filter(([, { messages, tokens, price_nanos }]) =>
      [messages, tokens, price_nanos].some((sum) => sum !== 0),
    );
    this.#days.clear();
    this.#last = undefined;
    return changed.sort(([one], [other]) => (one < other ? -1 : 1)).map(([, row]) => row);
  }
}

type UsageKey = Omit<UsageOfDay, 'messages' | 'tokens' | 'price_nanos'>;

function sumIn(sums: Map<string, UsageOfDay>, key: string, fields: UsageKey): UsageOfDay {
  let sum = sums.get(key);
  if (sum === undefined) {
    sum = { ...fields, messages: 0, tokens: 0, price_nanos: 0 };
    sums.set(key, sum);
  }
  return sum;
}

/** The sums by app. */
export function byApp(rows: readonly UsageOfDay[]): UsageOfDay[] {
  const sums = new Map<string, UsageOfDay>();
  for (const row of rows) {
    const { app_id, day, currency } = row;
    const sum = sumIn(sums, `${app_id} ${day} ${currency}`, { conversation_id: '', app_id, day, currency });
    sum.messages += row.messages;
    sum.tokens += row.tokens;
    sum.price_nanos += row.price_nanos;
  }
  return [...sums.values()];
}
