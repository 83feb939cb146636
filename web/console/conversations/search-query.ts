import type { Filters } from '../state/route.ts';
import { daySeconds, daySecondsOf, dayText } from '../state/times.ts';

/** The filters in the address that narrow the list, by the names of the search's parameters. `days` are whole days in UTC, up to today. */
const filterNames =
  'q app_id user rating status has days from to min_cost min_latency segment_id model_provider model'.split(' ');

/** Filters of the list of conversations itself; any other asks for messages, which is a search. */
const listFilters = ['app_id', 'user', 'days', 'from', 'to'];

/** Whether the list is that of a search. */
export const isSearched = (filters: Filters): boolean =>
  filterNames.some((name) => !listFilters.includes(name) && filters[name] !== undefined);

/** Whether some filter is on. */
export const isFiltered = (filters: Filters): boolean => filterNames.some((name) => filters[name] !== undefined);

/** Parameters of the search. Within a day they stay the same, so that the list is not read again for nothing. */
export function queryOf(
  { days, from, to, ...rest }: Filters,
  now = Date.now() / 1000,
): Record<string, string | number> {
  const tomorrow = (Math.floor(now / daySeconds) + 1) * daySeconds;
  const start = days === undefined ? secondsOf(from) : tomorrow - Number(days) * daySeconds;
  const end = days === undefined ? secondsOf(to, daySeconds) : tomorrow;
  const named = Object.entries(rest).filter(([name]) => filterNames.includes(name));
  return {
    ...Object.fromEntries(named),
    ...(start !== undefined && Number.isFinite(start) && { from: start }),
    ...(end !== undefined && { to: end }),
  };
}

/** A time in an address: seconds since 1970, or a day such as `2026-11-15`. The last day is included. */
function secondsOf(text: string | undefined, plus = 0): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d+$/.test(text)) return Number(text);
  const start = daySecondsOf(text);
  return start === undefined ? undefined : start + plus;
}

/** A time in an address as the value of a date field. */
export function dayOf(text: string | undefined, minus = 0): string {
  const seconds = secondsOf(text);
  if (text === undefined || seconds === undefined) return '';
  return /^\d+$/.test(text) ? dayText(seconds - minus) : text;
}
