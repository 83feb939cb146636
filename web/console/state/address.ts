import { orElse } from '../../shared/or-else.ts';

/** The parts behind `#/` in the address, so that every view can be bookmarked, shared and returned to. */
export type Route = readonly string[];

/** The query behind the parts: `#/keys?kind=app&state=active`. A name without a value is left out. */
export type Filters = Readonly<Record<string, string>>;

/** New values of some filters; undefined or '' removes a filter. */
export type FilterChange = Readonly<Record<string, string | number | undefined>>;

export const readRoute = (hash = location.hash): Route =>
  placeOf(hash)
    .replace(/^#?\/?/, '')
    .split('/')
    .filter((part) => part !== '')
    .map((part) => orElse(() => decodeURIComponent(part), part));

export function readFilters(hash = location.hash): Filters {
  const pairs = new URLSearchParams(hash.slice(placeOf(hash).length));
  return Object.fromEntries([...pairs].filter(([, value]) => value !== ''));
}

/** An address without its filters. */
export const placeOf = (hash: string): string => hash.split('?', 1)[0] ?? '';

/** A path of encoded parts, with a query of the values that are not empty. A list repeats its name. */
export function pathOf(
  parts: readonly string[],
  query: Readonly<Record<string, string | number | readonly string[] | null | undefined>> = {},
): string {
  const entries = Object.entries(query).flatMap(([name, value]) => [value].flat().map((one) => [name, `${one ?? ''}`]));
  const search = new URLSearchParams(entries.filter(([, value]) => value !== '')).toString();
  return `/${parts.map(encodeURIComponent).join('/')}${search && `?${search}`}`;
}

export const hrefOf = (...parts: string[]): string => `#${pathOf(parts)}`;

/** The address of a view with filters: `hrefWith(['conversations'], { rating: 'dislike' })`. */
export const hrefWith = (parts: Route, filters: FilterChange): string => `#${pathOf(parts, filters)}`;

/** An address with some filters changed and the others as they are. */
export const withFilters = (hash: string, change: FilterChange): string =>
  hrefWith(readRoute(hash), { ...readFilters(hash), ...change });
