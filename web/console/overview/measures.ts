import { brief, money, percent, short, whole } from '../components/format-number.ts';
import type { FilterChange } from '../state/address.ts';
import type { Overview, OverviewPoint, OverviewTotals } from '../state/types.ts';

type Sums = OverviewTotals;

/** Values per day, and their totals. */
export type Measure = {
  /** In the address. */
  id: string;
  label: string;
  value: (sums: Sums) => number;
  /** The messages of which the value is the share, in percent. */
  part?: 'disliked' | 'failed';
  /** What a higher value means. */
  rise?: 'better' | 'worse';
  format: (value: number) => string;
  /** Colour and pattern. */
  look: number;
  /** Which messages it counts: filters of the list of conversations. */
  filters: FilterChange;
};

/** Currencies come from the records: there may be any number of them. */
const currenciesShown = 3;

/** The currencies with the highest prices of the period, or of the one before. */
function currenciesOf({ totals, before }: Overview): string[] {
  const { prices } = totals.prices.length > 0 ? totals : before;
  return prices
    .toSorted((one, other) => other.price - one.price)
    .slice(0, currenciesShown)
    .map(({ currency }) => currency);
}

export const disliked: FilterChange = { rating: 'dislike' };
export const failed: FilterChange = { status: 'error' };

export function measuresOf(overview: Overview): Measure[] {
  const counts = { format: whole, look: 0, filters: {} };
  const percentage = (value: number): string => percent(value, 100);
  const shareOf = (part: 'disliked' | 'failed') => ({
    id: part,
    value: (sums: Sums) => (sums.messages === 0 ? 0 : (100 * sums[part]) / sums.messages),
    part,
    rise: 'worse' as const,
    format: percentage,
  });
  return [
    { id: 'messages', label: 'Messages', value: ({ messages }) => messages, rise: 'better', ...counts },
    ...currenciesOf(overview).map((currency) => ({
      id: `cost ${currency}`,
      label: `Cost, ${currency}`,
      value: ({ prices }: Sums) => prices.find((one) => one.currency === currency)?.price ?? 0,
      ...counts,
      format: (value: number) => money(value, currency),
    })),
    { id: 'users', label: 'Users', value: ({ users }) => users, rise: 'better', ...counts },
    { id: 'tokens', label: 'Tokens', value: ({ tokens }) => tokens, ...counts },
    { label: 'Disliked', ...shareOf('disliked'), look: 1, filters: disliked },
    { label: 'Failed', ...shareOf('failed'), look: 3, filters: failed },
  ];
}

/** Whether the values of parts can be added up. */
export const isSum = ({ id, part }: Measure): boolean => part === undefined && id !== 'users';

/** Costs in several currencies are one number with several plots. */
export const isAlike = (id: string, other: string): boolean => id.split(' ')[0] === other.split(' ')[0];

const none: Sums = { messages: 0, users: 0, liked: 0, disliked: 0, failed: 0, tokens: 0, prices: [] };

/** The start of every day or hour. */
export const timesOf = ({ from, to, step_seconds }: Overview): number[] =>
  Array.from({ length: (to - from) / step_seconds }, (_, n) => from + n * step_seconds);

/** The day or hour that has not ended; undefined if the period is over. */
export function runningPoint({ from, to, step_seconds }: Overview, now = Date.now() / 1000): number | undefined {
  return now < to ? Math.max(0, Math.floor((now - from) / step_seconds)) : undefined;
}

/** The value at every time, also without messages. */
export function valuesOf({ value }: Measure, points: readonly OverviewPoint[], times: readonly number[]): number[] {
  const byTime = new Map(points.map((one) => [one.at, one]));
  return times.map((at) => value({ ...none, ...byTime.get(at) }));
}

/** With a larger gain than this factor, its percentage says nothing. */
const largestGain = 10;

/** Long numbers are short where they only give an impression. */
const textOf = ({ format }: Measure, value: number): string => (format === whole ? short : format)(value);

/**
 * A value compared with the period before: `+12% from 340`, nothing without a value before. A share is compared in
 * percentage points.
 */
export function changeText(measure: Measure, { totals, before }: Overview): string {
  const { value, part } = measure;
  const [now, earlier] = [value(totals), value(before)];
  const change = (text: string) => `${now > earlier ? '+' : '−'}${text} from ${textOf(measure, earlier)}`;
  if (part === undefined) {
    if (earlier === 0) return '';
    if (now > largestGain * earlier) return `up from ${textOf(measure, earlier)}`;
    return now === earlier ? 'no change' : change(percent(Math.abs(now - earlier), Math.abs(earlier)));
  }
  if (totals.messages === 0 || before.messages === 0) return '';
  const points = Math.round(Math.abs(now - earlier) * 10) / 10;
  return points === 0 ? 'no change' : change(`${brief(points)} pp`);
}

/** What a value consists of: a share says of how many. */
export function partsText({ id, part }: Measure, { totals: { messages, users, ...totals } }: Overview): string {
  if (part !== undefined) return messages === 0 ? '' : `${whole(totals[part])} of ${whole(messages)}`;
  return id !== 'users' || users === 0 ? '' : `${brief(messages / users)} messages each`;
}

/** Smaller changes are neither good nor bad news: in percentage points, and as a factor. */
const leastTrend = { points: 0.5, factor: 0.1 };

/** Cost and tokens are neither good nor bad news, and neither is a decrease of messages or users. */
export function trendOf({ value, part, rise }: Measure, { totals, before }: Overview): 'better' | 'worse' | undefined {
  const [now, earlier] = [value(totals), value(before)];
  const least = part === undefined ? leastTrend.factor * earlier : leastTrend.points;
  if (before.messages === 0 || now === earlier || Math.abs(now - earlier) < least) return undefined;
  return now > earlier ? rise : rise === 'worse' ? 'better' : undefined;
}

/** The large numbers: one for each measure, whose days are drawn, and one for the costs in all currencies. */
export function totalsOf(overview: Overview, app_id?: string) {
  const { totals, from, to } = overview;
  const period = { app_id, from, to };
  const all = measuresOf(overview).map((measure) => ({
    name: measure.label,
    value: textOf(measure, measure.value(totals)),
    exact: measure.format(measure.value(totals)),
    change: changeText(measure, overview),
    more: partsText(measure, overview),
    trend: trendOf(measure, overview),
    plot: measure.id,
    filters: { ...measure.filters, ...period },
  }));
  const costs = all.filter(({ plot }) => isAlike(plot, 'cost'));
  const [cost = { value: '–', change: 'no prices', exact: '', plot: '', filters: period }, ...otherCosts] = costs;
  const hiddenCount = totals.prices.length - costs.length;
  const more = [
    ...otherCosts.map(({ value }) => `+ ${value}`),
    ...(hiddenCount > 0 ? [`and ${whole(hiddenCount)} more currencies`] : []),
  ].join(' ');
  return all.filter((one) => !costs.includes(one)).toSpliced(1, 0, { trend: undefined, ...cost, name: 'Cost', more });
}
