import { endSecondsOf, lastDays, secondsOf } from '../state/period.ts';
import type { Filters } from '../state/route.ts';

/** The filters in the address that narrow the list, by the names of the search's parameters. `days` are whole days in UTC, up to today. */
const filterNames =
  'q app_id user rating status has days from to min_cost min_latency dataset_id document_id segment_id model_provider model'.split(
    ' ',
  );

/** Filters of the list of conversations itself; any other asks for messages, which is a search. */
const listFilters = ['app_id', 'user', 'days', 'from', 'to'];

export const isSearched = (filters: Filters): boolean =>
  filterNames.some((name) => !listFilters.includes(name) && filters[name] !== undefined);

export const isFiltered = (filters: Filters): boolean => filterNames.some((name) => filters[name] !== undefined);

/** Parameters of the search. Within a day they stay the same, so that the list is not read again for nothing. */
export function queryOf(
  { days, from, to, ...rest }: Filters,
  now = Date.now() / 1000,
): Record<string, string | number> {
  const { from: start, to: end } =
    days === undefined ? { from: secondsOf(from), to: endSecondsOf(to) } : lastDays(Number(days), now);
  const named = Object.entries(rest).filter(([name]) => filterNames.includes(name));
  return {
    ...Object.fromEntries(named),
    ...(start !== undefined && Number.isFinite(start) && { from: start }),
    ...(end !== undefined && { to: end }),
  };
}
