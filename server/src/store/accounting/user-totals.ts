import { createHash } from 'node:crypto';
import { sortText } from '../../domain/store/admin-reads.ts';
import type { ConversationSums } from './usage-tally.ts';

/** Messages and their price in billionths, by currency. Without messages in a currency there is no entry. */
type Prices = [currency: string, messages: number, price_nanos: number][];

type Sums = { messages: number; disliked: number; failed: number; prices: Prices; first_at: number; last_at: number };

/** What the totals of a user have of one conversation. */
export type CountedConversation = Sums & { user: string; app_id: string };

/** The totals of a user in one app. */
export type UserTotals = Sums & { user: string; app_id: string; conversations: number };

export function countsOf(sums: readonly ConversationSums[]): Omit<Sums, 'first_at' | 'last_at'> {
  const total = (name: 'messages' | 'disliked' | 'failed') => sums.reduce((sum, one) => sum + one[name], 0);
  const priced = sums.filter(({ currency, messages }) => currency !== '' && messages > 0);
  const prices: Prices = priced.map(({ currency, messages, price_nanos }) => [currency, messages, price_nanos]);
  return { messages: total('messages'), disliked: total('disliked'), failed: total('failed'), prices };
}

/** A text of limited length that is different for each user and sorts by the beginning of the name. */
export function userKeyOf(user: string): string {
  const beginning = sortText(user);
  // Longer than any beginning, so it is no other user's key.
  return beginning === user ? user : `${beginning}\u{10ffff}${createHash('sha256').update(user).digest('hex')}`;
}

/** A change of what is counted of one conversation; null: it is not counted. */
export type CountChange = { before: CountedConversation | null; after: CountedConversation | null };

/** The totals of one user by app, before and after changes. */
export class UserApps {
  readonly user: string;
  readonly #apps = new Map<string, UserTotals>();
  /** Apps whose totals have changed. */
  readonly changed = new Set<string>();
  /** Apps whose first or last time may have been that of a conversation that has it no longer. */
  readonly unbounded = new Set<string>();

  constructor(user: string, stored: readonly UserTotals[]) {
    this.user = user;
    for (const totals of stored) this.#apps.set(totals.app_id, totals);
  }

  subtract(before: CountedConversation, after: CountedConversation | null): void {
    const totals = this.#apps.get(before.app_id);
    if (totals === undefined) return;
    addSums(totals, before, -1);
    totals.conversations -= 1;
    this.changed.add(before.app_id);
    const isSame = after?.user === before.user && after.app_id === before.app_id;
    const keepsFirst = before.first_at > totals.first_at || (isSame && after.first_at <= before.first_at);
    const keepsLast = before.last_at < totals.last_at || (isSame && after.last_at >= before.last_at);
    if (!keepsFirst || !keepsLast) this.unbounded.add(before.app_id);
  }

  add(after: CountedConversation): void {
    const { app_id, user, first_at, last_at } = after;
    let totals = this.#apps.get(app_id);
    if (totals === undefined) this.#apps.set(app_id, (totals = { user, app_id, ...noSums(), first_at, last_at }));
    include(totals, after, 1);
    this.changed.add(app_id);
  }

  /** Undefined if the user has no conversations in the app. */
  totalsIn(app_id: string): UserTotals | undefined {
    const totals = this.#apps.get(app_id);
    return totals !== undefined && totals.conversations > 0 ? totals : undefined;
  }

  /** The totals of all apps, with the ids of these; undefined if the user has no conversations. */
  get total(): { totals: UserTotals; app_ids: string[] } | undefined {
    const parts = [...this.#apps.values()].filter(({ conversations }) => conversations > 0);
    const [first] = parts;
    if (first === undefined) return undefined;
    const { first_at, last_at } = first;
    const totals: UserTotals = { user: this.user, app_id: '', ...noSums(), first_at, last_at };
    for (const part of parts) include(totals, part, part.conversations);
    return { totals, app_ids: parts.map(({ app_id }) => app_id).sort() };
  }
}

function include(totals: UserTotals, part: Sums, conversations: number): void {
  addSums(totals, part, 1);
  totals.conversations += conversations;
  totals.first_at = Math.min(totals.first_at, part.first_at);
  totals.last_at = Math.max(totals.last_at, part.last_at);
}

const noSums = () => ({ messages: 0, disliked: 0, failed: 0, conversations: 0, prices: [] });

function addSums(sums: Sums, part: Sums, times: 1 | -1): void {
  sums.messages += times * part.messages;
  sums.disliked += times * part.disliked;
  sums.failed += times * part.failed;
  for (const [currency, messages, price_nanos] of part.prices) {
    let price = sums.prices.find(([of]) => of === currency);
    if (price === undefined) sums.prices.push((price = [currency, 0, 0]));
    price[1] += times * messages;
    price[2] += times * price_nanos;
  }
  sums.prices = sums.prices.filter(([, messages]) => messages !== 0);
}

/** The sum of the prices, if they are in one currency. */
export function priceOf(prices: Prices): { currency: string; price_nanos: number } | undefined {
  const [single, another] = prices;
  if (single === undefined || another !== undefined) return undefined;
  const [currency, , price_nanos] = single;
  return { currency, price_nanos };
}
