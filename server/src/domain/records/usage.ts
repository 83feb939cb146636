import { limits } from '../../contract/limits.ts';
import { decimalPattern } from '../../contract/primitives.ts';

type Rating = { rating: 'like' | 'dislike' };

/**
 * The usage of one message. The price is in billionths, so that sums of prices are sums of integers. '' means no currency.
 * The counts are 0 or 1.
 */
export type Usage = Cost & Ratings & ModelUsed & { failed: number };
type Cost = { tokens: number; price_nanos: number; currency: string };
type Ratings = { liked: number; disliked: number };
/** '' if it is not known. */
type ModelUsed = { model_provider: string; model: string };

/** The fields of a message that give its usage. */
export type UsageFields = CostFields & ModelFields & { feedback: Rating | null; status: string };
export type ModelFields = { model_provider: string | null; model: string | null };
type CostFields = { total_tokens: number | null; total_price: string | null; currency: string | null };

const daySeconds = 86_400;
export const hourSeconds = 3_600;
/** The first and last day with a four-digit year. A message outside this range is counted on the nearest day. */
export const days = { first: -719_528, last: 2_932_896, seconds: daySeconds } as const;

/** The unit of prices. */
const priceRules = {
  /** Longer texts are rejected, as those that are no decimal: if one was stored nevertheless, it counts as 0. */
  charsMax: limits.decimalCharsMax,
  /** A greater price counts as this maximum, so that one message cannot distort a sum. */
  nanosMax: 1_000_000 * 1_000_000_000,
  currencyBytesMax: 16,
} as const;

export function usageOf(fields: UsageFields): Usage {
  const model = { model_provider: fields.model_provider ?? '', model: fields.model ?? '' };
  return { ...costOf(fields), ...ratingsOf(fields.feedback), ...model, failed: fields.status === 'error' ? 1 : 0 };
}

export const ratingsOf = (feedback: Rating | null): Ratings => ({
  liked: feedback?.rating === 'like' ? 1 : 0,
  disliked: feedback?.rating === 'dislike' ? 1 : 0,
});

/** A price without a valid currency is not counted. */
function costOf({ total_tokens, total_price, currency }: CostFields): Cost {
  const tokens = total_tokens ?? 0;
  if (total_price === null || !isCurrency(currency)) return { tokens, price_nanos: 0, currency: '' };
  return { tokens, price_nanos: nanosOf(total_price), currency };
}

function isCurrency(currency: string | null): currency is string {
  return currency !== null && currency !== '' && Buffer.byteLength(currency) <= priceRules.currencyBytesMax;
}

function nanosOf(price: string): number {
  if (price.length > priceRules.charsMax || !decimalPattern.test(price)) return 0;
  const nanos = Math.floor(Number(price) * 1e9 + 0.5);
  return Math.min(Math.max(nanos, -priceRules.nanosMax), priceRules.nanosMax);
}

/** The hour of a time within its day, 0 to 23. */
export const hourOf = (seconds: number): number =>
  Math.min(Math.max(Math.floor((seconds - dayOf(seconds) * daySeconds) / hourSeconds), 0), 23);

/** The day of a time, counted from 1970-01-01. */
export function dayOf(seconds: number): number {
  return Math.min(Math.max(Math.floor(seconds / daySeconds), days.first), days.last);
}
