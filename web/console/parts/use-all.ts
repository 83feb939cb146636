import { useCallback, useEffect, useState } from '../../shared/dom.ts';
import { type ApiError, request } from './api.ts';
import { limits } from './server-rules.ts';
import type { Page } from './use-list.ts';

/** All rows of a list; undefined until they are loaded. */
export type All<T> = { rows: readonly T[] | undefined; error: ApiError | undefined; reload: () => void };

/** Reads a list to its end, `limit` rows at a time, for lists that are only useful as a whole. */
export function useAll<T>(path: string, limit: number = limits.listRowsMax): All<T> {
  const [loaded, setLoaded] = useState<{ path: string; rows: readonly T[] }>();
  const [error, setError] = useState<ApiError>();
  const [attempt, setAttempt] = useState(0);
  // `attempt` counts the reloads; the rows stay until the new ones are loaded.
  useEffect(() => {
    const { signal, abort } = aborting();
    setError(undefined);
    readPages<T>(path, limit, signal).then(
      (rows) => setLoaded({ path, rows }),
      (error: ApiError) => signal.aborted || setError(error),
    );
    return abort;
  }, [path, limit, attempt]);
  const reload = useCallback(() => setAttempt((attempt) => attempt + 1), []);
  return { rows: loaded?.path === path ? loaded?.rows : undefined, error, reload };
}

async function readPages<T>(path: string, limit: number, signal: AbortSignal): Promise<T[]> {
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
