import { useCallback, useEffect, useRef, useState } from '../../shared/dom.ts';
import { type ApiError, ask } from './api.ts';

export type Page<T> = { limit: number; has_more: boolean; data: T[]; next_cursor: string | null };

export type List<T> = {
  rows: readonly T[];
  hasMore: boolean;
  isLoading: boolean;
  error: ApiError | undefined;
  more: () => void;
  /** Begins anew, as after a change. */
  reload: () => void;
  /** Puts rows that were changed in the place of what they were. */
  change(change: (row: T) => T): void;
};

/** The rows of a list of the service, page after page. `path` undefined: not yet to be asked. */
export function useList<T>(path: string | undefined): List<T> {
  const [state, setState] = useState<{ rows: T[]; cursor: string | null; hasMore: boolean }>(empty);
  const [isLoading, setLoading] = useState(path !== undefined);
  const [error, setError] = useState<ApiError>();
  const [turn, setTurn] = useState(0);
  const asking = useRef<AbortController | undefined>(undefined);

  const load = useCallback(
    async (cursor: string | null) => {
      if (path === undefined) return;
      asking.current?.abort();
      const { signal } = (asking.current = new AbortController());
      setLoading(true);
      setError(undefined);
      try {
        const { body } = await ask<Page<T>>(withCursor(path, cursor), { signal });
        setState(({ rows }) => ({
          rows: cursor === null ? body.data : [...rows, ...body.data],
          cursor: body.next_cursor,
          hasMore: body.has_more,
        }));
        setLoading(false);
      } catch (error) {
        if (signal.aborted) return;
        setError(error as ApiError);
        setLoading(false);
      }
    },
    [path],
  );

  // `turn` counts the times that it is to begin anew.
  useEffect(() => {
    setState(empty());
    void load(null);
    return () => asking.current?.abort();
  }, [load, turn]);

  const more = useCallback(() => {
    if (state.hasMore && !isLoading) void load(state.cursor);
  }, [state, isLoading, load]);
  const reload = useCallback(() => setTurn((turn) => turn + 1), []);
  const change = useCallback(
    (change: (row: T) => T) => setState(({ rows, ...rest }) => ({ rows: rows.map(change), ...rest })),
    [],
  );
  return { rows: state.rows, hasMore: state.hasMore, isLoading, error, more, reload, change };
}

function empty<T>() {
  return { rows: [] as T[], cursor: null as string | null, hasMore: false };
}

function withCursor(path: string, cursor: string | null): string {
  if (cursor === null) return path;
  return `${path}${path.includes('?') ? '&' : '?'}cursor=${encodeURIComponent(cursor)}`;
}
