import { useEffect, useState } from '../../shared/dom.ts';
import { pathOf, request } from './api.ts';

/** Rows by their paths, as lists have shown them or as they were asked for. */
const cache = new Map<string, unknown>();
/** Paths that are being asked for: several may want the same row. */
const requests = new Map<string, Promise<void>>();

/** Rows of the list at a path, so that they need not be asked for one by one. */
export function cacheRecords(parts: readonly string[], rows: readonly { id: string }[]): void {
  for (const row of rows) cache.set(pathOf([...parts, row.id]), row);
}

/** A row by its path, for its name: as it was last seen, or else asked for. `parts` undefined: none is wanted. */
export function useRecord<T>(parts: readonly string[] | undefined): T | undefined {
  const [, setTurn] = useState(0);
  const path = parts && pathOf(parts);
  useEffect(() => {
    if (path === undefined || cache.has(path)) return undefined;
    let isWanted = true;
    void read(path).then(() => isWanted && setTurn((turn) => turn + 1));
    return () => {
      isWanted = false;
    };
  }, [path]);
  return path === undefined ? undefined : (cache.get(path) as T | undefined);
}

function read(path: string): Promise<void> {
  let reading = requests.get(path);
  if (reading === undefined) {
    reading = request(path)
      .then(
        ({ body }) => void cache.set(path, body),
        // What else is on the page says what is wrong; a name more or less does not matter then.
        () => undefined,
      )
      .finally(() => requests.delete(path));
    requests.set(path, reading);
  }
  return reading;
}
