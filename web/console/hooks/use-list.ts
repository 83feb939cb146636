import { useCallback, useEffect, useRef, useState } from '../../shared/dom.ts';
import { type ApiError, request } from '../state/api.ts';

export type CursorPage<T> = { limit: number; has_more: boolean; data: T[]; next_cursor: string | null };

export type List<T> = {
  rows: readonly T[];
  hasMore: boolean;
  isLoading: boolean;
  error: ApiError | undefined;
  more: () => void;
  /** Reads the list again from the beginning, as after a change. */
  reload: () => void;
  /** Reads the first page again and merges it into the rows, without showing that it loads. */
  refresh(idOf: (row: T) => string): Promise<void>;
};

/** The rows of a list of the service, page after page. With `path` undefined nothing is requested. */
export function useList<T>(path: string | undefined): List<T> {
  const [state, setState] = useState<Rows<T>>(() => empty(path));
  const [isLoading, setLoading] = useState(path !== undefined);
  const [error, setError] = useState<ApiError>();
  const [attempt, setAttempt] = useState(0);
  const pending = useRef<AbortController | undefined>(undefined);

  const load = useCallback(
    async (cursor: string | null) => {
      if (path === undefined) return;
      pending.current?.abort();
      const { signal } = (pending.current = new AbortController());
      setLoading(true);
      setError(undefined);
      try {
        const { body } = await request<CursorPage<T>>(withCursor(path, cursor), { signal });
        setState(({ rows }) => ({
          path,
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

  // `attempt` counts the reloads.
  useEffect(() => {
    setState(empty(path));
    void load(null);
    return () => pending.current?.abort();
  }, [load, attempt]);

  const more = useCallback(() => {
    // A cursor continues the list of its own path only.
    if (state.path === path && state.hasMore && !isLoading) void load(state.cursor);
  }, [state, isLoading, load]);
  const reload = useCallback(() => setAttempt((attempt) => attempt + 1), []);
  const refresh = useCallback(
    async (idOf: (row: T) => string) => {
      if (path === undefined) return;
      const { signal } = (pending.current = new AbortController());
      const { body } = await request<CursorPage<T>>(path, { signal });
      setState((state) => merge(body, state, idOf));
    },
    [path],
  );
  // Until the effect has run, the rows are those of another path.
  if (state.path !== path) return { ...waiting, more, reload, refresh };
  return { rows: state.rows, hasMore: state.hasMore, isLoading, error, more, reload, refresh };
}

const waiting = { rows: [], hasMore: false, isLoading: true, error: undefined };

type Rows<T> = { path: string | undefined; rows: T[]; cursor: string | null; hasMore: boolean };

function empty<T>(path: string | undefined): Rows<T> {
  return { path, rows: [], cursor: null, hasMore: false };
}

/** The new first page, followed by the rows of later pages if the two still overlap; else alone, and later pages are read again. */
function merge<T>({ data, next_cursor, has_more }: CursorPage<T>, old: Rows<T>, idOf: (row: T) => string): Rows<T> {
  const ids = data.map(idOf);
  const at = old.rows.findIndex((row) => idOf(row) === ids.at(-1));
  const overlaps = at >= 0 && at < data.length && data.length < old.rows.length;
  if (!overlaps) return { ...old, rows: data, cursor: next_cursor, hasMore: has_more };
  return { ...old, rows: [...data, ...old.rows.filter((row) => !ids.includes(idOf(row)))] };
}

export function withCursor(path: string, cursor: string | null): string {
  if (cursor === null) return path;
  return `${path}${path.includes('?') ? '&' : '?'}cursor=${encodeURIComponent(cursor)}`;
}
