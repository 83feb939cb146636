import type { Filters } from '../state/address.ts';
import { daySeconds } from '../state/times.ts';

/** The lengths that can be chosen by a click, in days. */
export const lengths = [7, 30, 90];
const lengthDefault = 30;

/** Whole days in UTC, in seconds; `to` is exclusive. `days` is one of `lengths`, up to today. */
export type Period = { from: number; to: number; days: number | undefined };

/** The period in the address: `days=7`, or `from` and `to` in seconds. `now` is in seconds. */
export function periodOf({ from, to, days }: Filters, now: number): Period {
  const [first, end] = [Math.floor(secondsOf(from) / daySeconds), Math.ceil(secondsOf(to) / daySeconds)];
  if (first < end) return { from: first * daySeconds, to: end * daySeconds, days: undefined };
  const length = lengths.find((length) => `${length}` === days) ?? lengthDefault;
  const tomorrow = (Math.floor(now / daySeconds) + 1) * daySeconds;
  return { from: tomorrow - length * daySeconds, to: tomorrow, days: length };
}

const secondsOf = (text: string | undefined): number => (/^\d{1,12}$/.test(text ?? '') ? Number(text) : Number.NaN);

/** The start of each day. */
export const daysOf = ({ from, to }: Period): number[] =>
  Array.from({ length: (to - from) / daySeconds }, (_, n) => from + n * daySeconds);
