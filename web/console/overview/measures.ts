import { brief, money, percent, whole } from '../components/format-number.ts';
import type { FilterChange } from '../state/address.ts';
import type { Overview, OverviewDay, OverviewTotals } from '../state/types.ts';

type Sums = OverviewTotals;

/** Values per day, and their totals. */
export type Measure = {
  /** In the address. */
  id: string;
  label: string;
  value: (sums: Sums) => number;
  format: (value: number) => string;
  tick: (value: number) => string;
  isWhole: boolean;
  /** Colour and pattern. */
  look: number;
  /** Which messages it counts: filters of the list of conversations. */
  filters: FilterChange;
};

/** Currencies come from the records: there may be any number of them. */
const currenciesShown = 3;

export const priceIn = ({ prices }: Sums, currency: string): number =>
  prices.find((one) => one.currency === currency)?.price ?? 0;

/** The currencies with the highest prices of the period, or of the one before. */
export function currenciesOf({ totals, before }: Pick<Overview, 'totals' | 'before'>): string[] {
  const { prices } = totals.prices.length > 0 ? totals : before;
  return prices
    .toSorted((one, other) => other.price - one.price)
    .slice(0, currenciesShown)
    .map(({ currency }) => currency);
}

export const share = (part: number, all: number): number => (all === 0 ? 0 : (100 * part) / all);
const percentage = (value: number): string => percent(value, 100);
const counts = { format: whole, tick: brief, isWhole: true };
const shares = { format: percentage, tick: percentage, isWhole: false };
export const disliked: FilterChange = { rating: 'dislike' };
export const failed: FilterChange = { status: 'error' };

export function measuresOf(overview: Overview): Measure[] {
  return [
    { id: 'messages', label: 'Messages', value: ({ messages }) => messages, ...counts, look: 0, filters: {} },
    ...currenciesOf(overview).map((currency) => ({
      id: `cost ${currency}`,
      label: `Cost, ${currency}`,
      value: (sums: Sums) => priceIn(sums, currency),
      format: (value: number) => money(value, currency),
      tick: brief,
      isWhole: false,
      look: 0,
      filters: {},
    })),
    { id: 'users', label: 'Users', value: ({ users }) => users, ...counts, look: 0, filters: {} },
    { id: 'tokens', label: 'Tokens', value: ({ tokens }) => tokens, ...counts, look: 0, filters: {} },
    {
      ...{ id: 'disliked', label: 'Disliked', ...shares, look: 1, filters: disliked },
      value: ({ disliked, messages }) => share(disliked, messages),
    },
    {
      ...{ id: 'failed', label: 'Failed', ...shares, look: 3, filters: failed },
      value: ({ failed, messages }) => share(failed, messages),
    },
  ];
}

/** Costs in several currencies are one number with several plots. */
export const isAlike = (id: string, other: string): boolean => id.split(' ')[0] === other.split(' ')[0];

const none: Sums = { messages: 0, users: 0, liked: 0, disliked: 0, failed: 0, tokens: 0, prices: [] };

/** The value of every day, also of those without messages. */
export function valuesOf({ value }: Measure, days: readonly OverviewDay[], names: readonly string[]): number[] {
  const byDay = new Map(days.map((one) => [one.day, one]));
  return names.map((name) => value(byDay.get(name) ?? none));
}

/** A value compared with the period before: `+12% from 340`. Without a value before, nothing. */
export function changeText(now: number, before: number, format: (value: number) => string): string {
  if (before === 0) return '';
  if (now === before) return 'no change';
  return `${signed(percent(Math.abs(now - before), Math.abs(before)), now > before)} from ${format(before)}`;
}

/** A share compared with the period before, in percentage points. */
export function pointsText(now: number, before: number, format: (value: number) => string): string {
  const points = Math.round(Math.abs(now - before) * 10) / 10;
  if (points === 0) return 'no change';
  return `${signed(`${brief(points)} pp`, now > before)} from ${format(before)}`;
}

const signed = (text: string, isMore: boolean): string => `${isMore ? '+' : '−'}${text}`;
