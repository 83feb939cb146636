import type { Filters } from './address.ts';
import { daySeconds, daySecondsOf, dayText } from './times.ts';

/** The lengths that can be chosen by a click, in days. */
export const lengths = [2, 7, 30, 90];
export const lengthDefault = 30;

/** Whole days in UTC, in seconds; `to` is exclusive. `days` is one of `lengths`, up to today. */
export type Period = { from: number; to: number; days: number | undefined };

/** The period in the address: `days=7`, or `from` and `to`. `now` is in seconds. */
export function periodOf({ from, to, days }: Filters, now = Date.now() / 1000): Period {
  const first = Math.floor((secondsOf(from) ?? Number.NaN) / daySeconds);
  const end = Math.ceil((endSecondsOf(to) ?? Number.NaN) / daySeconds);
  if (first < end) return { from: first * daySeconds, to: end * daySeconds, days: undefined };
  const length = lengths.find((length) => `${length}` === days) ?? lengthDefault;
  return { ...lastDays(length, now), days: length };
}

/** Whole days, up to today. */
export function lastDays(days: number, now = Date.now() / 1000): { from: number; to: number } {
  const to = (Math.floor(now / daySeconds) + 1) * daySeconds;
  return { from: to - days * daySeconds, to };
}

/** A time in an address: seconds since 1970, or a day such as `2026-11-15`. */
export function secondsOf(text = '', dayEnd = 0): number | undefined {
  if (/^\d{1,12}$/.test(text)) return Number(text);
  const day = daySecondsOf(text);
  return day === undefined ? undefined : day + dayEnd;
}

/** The end of a period in an address. A day is included. */
export const endSecondsOf = (text: string | undefined): number | undefined => secondsOf(text, daySeconds);

/** The first and the last day of the period in an address, as far as it has them. */
export function shownDays({ from, to }: Filters): [first: string, last: string] {
  const [start, end] = [secondsOf(from), endSecondsOf(to)];
  return [start === undefined ? '' : dayText(start), end === undefined ? '' : dayText(end - 1)];
}
