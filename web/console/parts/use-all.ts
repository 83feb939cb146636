import { useCallback, useEffect, useState } from '../../shared/dom.ts';
import { type ApiError, request } from './api.ts';
import { limits } from './server-rules.ts';
import type { Page } from './use-list.ts';

/** All rows of a list, once they are there. */
export type All<T> = { rows: readonly T[] | undefined; error: ApiError | undefined; reload: () => void };

/** Walks a list to its end, `limit` rows at a time, for what is only of use as a whole. */
export function useAll<T>(path: string, limit: number = limits.listRowsMax): All<T> {
  const [found, setFound] = useState<{ path: string; rows: readonly T[] }>();
  const [error, setError] = useState<ApiError>();
  const [turn, setTurn] = useState(0);
  // `turn` counts the times that it is to begin anew; what was found stays until then.
  useEffect(() => {
    const { signal, abort } = aborting();
    setError(undefined);
    walk<T>(path, limit, signal).then(
      (rows) => setFound({ path, rows }),
      (error: ApiError) => signal.aborted || setError(error),
    );
    return abort;
  }, [path, limit, turn]);
  const reload = useCallback(() => setTurn((turn) => turn + 1), []);
  return { rows: found?.path === path ? found?.rows : undefined, error, reload };
}

async function walk<T>(path: string, limit: number, signal: AbortSignal): Promise<T[]> {
  const rows: T[] = [];
  let cursor: string | null = null;
  do {
    const from: string = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const query = `${path.includes('?') ? '&' : '?'}limit=${limit}${from}`;
    const { body }: { body: Page<T> } = await request(`${path}${query}`, { signal });
    rows.push(...body.data);
    cursor = body.next_cursor;
  } while (cursor !== null);
  return rows;
}

function aborting() {
  const controller = new AbortController();
  return { signal: controller.signal, abort: () => controller.abort() };
}
