/** The parts behind `#/` in the address, so that every view can be bookmarked, shared and returned to. */
export type Route = readonly string[];

/** The query behind the parts: `#/keys?kind=app&state=active`. A name without a value is left out. */
export type Filters = Readonly<Record<string, string>>;

/** New values of some filters; undefined or '' removes a filter. */
export type FilterChange = Readonly<Record<string, string | number | undefined>>;

export function readRoute(hash = location.hash): Route {
  return pathOf(hash)
    .replace(/^#?\/?/, '')
    .split('/')
    .filter((part) => part !== '')
    .map(decode);
}

export function readFilters(hash = location.hash): Filters {
  const pairs = new URLSearchParams(hash.slice(pathOf(hash).length));
  return Object.fromEntries([...pairs].filter(([, value]) => value !== ''));
}

export const pathOf = (hash: string): string => hash.split('?', 1)[0] ?? '';

export function hrefOf(...parts: string[]): string {
  return `#/${parts.map(encodeURIComponent).join('/')}`;
}

/** The address of a view with filters: `hrefWith(['conversations'], { rating: 'dislike' })`. */
export function hrefWith(parts: Route, filters: FilterChange): string {
  return withFilters(hrefOf(...parts), filters);
}

/** An address with some filters changed and the others as they are. */
export function withFilters(hash: string, change: FilterChange): string {
  const pairs = Object.entries({ ...readFilters(hash), ...change }).flatMap(([name, value]) =>
    value === undefined || value === '' ? [] : [[name, `${value}`]],
  );
  const query = new URLSearchParams(pairs).toString();
  return `${pathOf(hash) || '#/'}${query && `?${query}`}`;
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
