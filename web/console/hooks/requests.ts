import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { limits } from '../../../server/src/contract/limits.ts';
import { whenBack } from '../../shared/when-back.ts';
import { type ApiError, isTemporary, request } from '../state/api.ts';
import { keepRows, keptRows } from '../state/kept-rows.ts';

export type CursorPage<T> = {
  limit: number;
  has_more: boolean;
  data: T[];
  next_cursor: string | null;
  total?: number | null;
};

export type List<T> = {
  rows: readonly T[];
  hasMore: boolean;
  /** The number of all rows, if the service tells it. */
  total?: number | null | undefined;
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
  const [state, setState] = useState<Rows<T>>(() => keptRows(path) ?? empty(path));
  const [isLoading, setLoading] = useState(path !== undefined && keptRows(path) === undefined);
  const [error, setError] = useState<ApiError>();
  const [attempt, setAttempt] = useState(0);
  const pending = useRef<AbortController | undefined>(undefined);

  const load = useCallback(
    async (cursor: string | null) => {
      if (path === undefined) return;
      pending.current?.abort();
      const { signal } = (pending.current = new AbortController());
      setLoading(true);
      try {
        const { body } = await request<CursorPage<T>>(withCursor(path, cursor), { signal });
        setState(({ rows }) => ({
          path,
          rows: cursor === null ? body.data : [...rows, ...body.data],
          cursor: body.next_cursor,
          hasMore: body.has_more,
          total: body.total,
        }));
        setError(undefined);
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
    const kept = attempt === 0 ? keptRows<Rows<T>>(path) : undefined;
    setState(kept ?? empty(path));
    setError(undefined);
    setLoading(kept === undefined && path !== undefined);
    if (kept === undefined) void load(null);
    return () => pending.current?.abort();
  }, [load, attempt]);
  // In place: the error is shown until a request succeeds.
  useEffect(
    () => (isTemporary(error) ? whenBack(() => void load(state.path === path ? state.cursor : null)) : undefined),
    [error],
  );

  useEffect(() => {
    if (state.path !== undefined && state.rows.length > 0) keepRows(state.path, state);
  });

  const more = useCallback(() => {
    // A cursor continues the list of its own path only.
    if (state.path !== path || !state.hasMore || isLoading) return;
    setError(undefined);
    void load(state.cursor);
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
  return { rows: state.rows, hasMore: state.hasMore, total: state.total, isLoading, error, more, reload, refresh };
}

const waiting = { rows: [], hasMore: false, isLoading: true, error: undefined };

type Rows<T> = {
  path: string | undefined;
  rows: T[];
  cursor: string | null;
  hasMore: boolean;
  total?: number | null | undefined;
};

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

function withCursor(path: string, cursor: string | null): string {
  if (cursor === null) return path;
  return `${path}${path.includes('?') ? '&' : '?'}cursor=${encodeURIComponent(cursor)}`;
}

/** All rows of a list; none until they are loaded. */
export type All<T> = Omit<List<T>, 'refresh'>;

const none: readonly never[] = [];

/** Reads a list to its end, for lists that are only useful as a whole. */
export function useAll<T>(path: string): All<T> {
  const { body, error, reload } = useReading(path, (signal) =>
    readPages<T>(`${path}?limit=${limits.listRowsMax}`, signal),
  );
  const isLoading = body === undefined && error === undefined;
  return { rows: body ?? none, hasMore: false, isLoading, error, more: reload, reload };
}

/** All pages of a list whose path has a limit. */
export async function readPages<T>(path: string, signal?: AbortSignal): Promise<T[]> {
  const rows: T[] = [];
  let cursor: string | null = null;
  do {
    const options = signal && { signal };
    const { body }: { body: CursorPage<T> } = await request(withCursor(path, cursor), options);
    rows.push(...body.data);
    cursor = body.next_cursor;
  } while (cursor !== null);
  return rows;
}

export type Reading<T> = { body: T | undefined; error: ApiError | undefined; reload: () => void };

/**
 * The result of `read`, which is called again when `key` changes, and every `refreshMillis` while the page is visible. After
 * an error the last result stays.
 */
export function useReading<T>(
  key: string,
  read: (signal: AbortSignal) => Promise<T>,
  refreshMillis?: number,
): Reading<T> {
  const [last, setLast] = useState<{ key: string; body: T }>();
  const [error, setError] = useState<ApiError>();
  const [reload, setReload] = useState<() => void>(() => () => undefined);
  useEffect(() => {
    const controller = new AbortController();
    const { signal } = controller;
    let started = 0;
    let shown = 0;
    let cancel = () => {};
    const readNow = () => {
      cancel();
      const number = ++started;
      // A result that comes after that of a later request is older.
      const show = (change: () => void) => {
        if (signal.aborted || number < shown) return;
        shown = number;
        change();
      };
      read(signal).then(
        (body) =>
          show(() => {
            setLast({ key, body });
            setError(undefined);
          }),
        (error: ApiError) =>
          show(() => {
            setError(error);
            if (isTemporary(error)) cancel = whenBack(readNow);
          }),
      );
    };
    const refresh = () => document.visibilityState === 'hidden' || readNow();
    setError(undefined);
    readNow();
    setReload(() => readNow);
    const timer = refreshMillis === undefined ? undefined : setInterval(refresh, refreshMillis);
    if (refreshMillis !== undefined) document.addEventListener('visibilitychange', refresh, { signal });
    return () => {
      clearInterval(timer);
      cancel();
      controller.abort();
    };
  }, [key, refreshMillis]);
  return { body: last?.key === key ? last.body : undefined, error, reload };
}

/** The response to a GET request. */
export const useResponse = <T>(path: string, refreshMillis?: number): Reading<T> =>
  useReading(path, async (signal) => (await request<T>(path, { signal })).body, refreshMillis);

/** State of an action that the user starts: whether it runs, and why it failed. */
export function useAttempt() {
  const [error, setError] = useState<ApiError>();
  const [isBusy, setBusy] = useState(false);
  const attempt = async (work: () => Promise<void>) => {
    setBusy(true);
    setError(undefined);
    await work().catch((error: ApiError) => setError(error));
    setBusy(false);
  };
  return { error, isBusy, attempt };
}
