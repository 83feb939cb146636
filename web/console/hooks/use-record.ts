import { useEffect, useState } from 'preact/hooks';
import { pathOf, request } from '../state/api.ts';

/** Records by their paths, from lists or from single requests. */
const cache = new Map<string, unknown>();
/** Requests that are under way: several components may need one record. */
const requests = new Map<string, Promise<void>>();

/** Caches the records of the list at a path, so that they are not requested one by one. */
export function cacheRecords(parts: readonly string[], rows: readonly { id: string }[]): void {
  for (const row of rows) cache.set(pathOf([...parts, row.id]), row);
}

/**
 * A record by its path, for its name: from the cache, or else requested; again when `version` changes. `parts` undefined:
 * no record.
 */
export function useRecord<T>(parts: readonly string[] | undefined, version = 0): T | undefined {
  const [, redraw] = useState(0);
  const path = parts && pathOf(parts);
  useEffect(() => {
    if (path === undefined || (cache.has(path) && version === 0)) return undefined;
    let isMounted = true;
    void read(path).then(() => isMounted && redraw((count) => count + 1));
    return () => {
      isMounted = false;
    };
  }, [path, version]);
  return path === undefined ? undefined : (cache.get(path) as T | undefined);
}

function read(path: string): Promise<void> {
  const keep = ({ body }: { body: unknown }) => void cache.set(path, body);
  // The rest of the page reports the error; a missing name does not matter then.
  const start = () => request(path).then(keep, () => undefined);
  const reading = requests.get(path) ?? start().finally(() => requests.delete(path));
  requests.set(path, reading);
  return reading;
}
