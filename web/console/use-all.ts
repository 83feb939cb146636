import { useCallback, useEffect, useState } from '../shared/dom.ts';
import { type ApiError, ask } from './api.ts';
import type { Page } from './use-list.ts';

/** All rows of a list, once they are there. */
export type All<T> = { rows: readonly T[] | undefined; error: ApiError | undefined; reload: () => void };

/** Walks a list to its end, for what is only of use as a whole. `path` undefined: not yet to be asked. */
export function useAll<T>(path: string | undefined): All<T> {
  const [found, setFound] = useState<{ path: string; rows: readonly T[] }>();
  const [error, setError] = useState<ApiError>();
  const [turn, setTurn] = useState(0);
  // `turn` counts the times that it is to begin anew; what was found stays until then.
  useEffect(() => {
    if (path === undefined) return;
    const { signal, abort } = aborting();
    setError(undefined);
    walk<T>(path, signal).then(
      (rows) => setFound({ path, rows }),
      (error: ApiError) => signal.aborted || setError(error),
    );
    return abort;
  }, [path, turn]);
  const reload = useCallback(() => setTurn((turn) => turn + 1), []);
  return { rows: found?.path === path ? found?.rows : undefined, error, reload };
}

async function walk<T>(path: string, signal: AbortSignal): Promise<T[]> {
  const rows: T[] = [];
  let cursor: string | null = null;
  do {
    const from: string = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const { body }: { body: Page<T> } = await ask(`${path}${path.includes('?') ? '&' : '?'}limit=100${from}`, {
      signal,
    });
    rows.push(...body.data);
    cursor = body.next_cursor;
  } while (cursor !== null);
  return rows;
}

function aborting() {
  const controller = new AbortController();
  return { signal: controller.signal, abort: () => controller.abort() };
}
