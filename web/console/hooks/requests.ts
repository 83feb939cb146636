import { useEffect, useRef, useState } from 'preact/hooks';
import { limits } from '../../../server/src/contract/limits.ts';
import { whenBack } from '../../shared/when-back.ts';
import { type ApiError, isTemporary, request } from '../state/api.ts';
import { keepRows, keptRows } from '../state/kept-rows.ts';

export type CursorPage<T> = {
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

type Rows<T> = Pick<List<T>, 'rows' | 'total' | 'isLoading' | 'error'> & {
  path: string | undefined;
  cursor: string | null;
};

const none: readonly never[] = [];

const empty = (path: string | undefined): Rows<never> => ({
  path,
  rows: none,
  cursor: null,
  isLoading: path !== undefined,
  error: undefined,
});

/** The rows of a list of the service, page after page. With `path` undefined nothing is requested. */
export function useList<T>(path: string | undefined): List<T> {
  const [state, setState] = useState<Rows<T>>(() => keptRows(path) ?? empty(path));
  const [attempt, setAttempt] = useState(0);
  const pending = useRef<AbortController | undefined>(undefined);
  const change = (values: Partial<Rows<T>>) => setState((state) => ({ ...state, ...values }));

  const load = async (cursor: string | null) => {
    if (path === undefined) return;
    pending.current?.abort();
    const { signal } = (pending.current = new AbortController());
    change({ isLoading: true });
    try {
      const { body } = await request<CursorPage<T>>(withCursor(path, cursor), { signal });
      setState(({ rows }) => ({
        ...empty(path),
        rows: cursor === null ? body.data : [...rows, ...body.data],
        cursor: body.next_cursor,
        total: body.total,
        isLoading: false,
      }));
    } catch (error) {
      if (!signal.aborted) change({ isLoading: false, error: error as ApiError });
    }
  };

  // `attempt` counts the reloads.
  useEffect(() => {
    const kept = attempt === 0 ? keptRows<Rows<T>>(path) : undefined;
    setState(kept ?? empty(path));
    if (kept === undefined) void load(null);
    return () => pending.current?.abort();
  }, [path, attempt]);
  // In place: the error is shown until a request succeeds.
  useEffect(() => {
    if (isTemporary(state.error)) return whenBack(() => void load(state.cursor));
    return undefined;
  }, [state.error]);

  useEffect(() => {
    if (state.path !== undefined && state.rows.length > 0)
      keepRows(state.path, { ...state, isLoading: false, error: undefined });
  });

  const more = () => {
    // A cursor continues the list of its own path only.
    if (state.path !== path || state.cursor === null || state.isLoading) return;
    change({ error: undefined });
    void load(state.cursor);
  };
  const reload = () => setAttempt((attempt) => attempt + 1);
  const refresh = async (idOf: (row: T) => string) => {
    if (path === undefined) return;
    const { signal } = (pending.current = new AbortController());
    const { body } = await request<CursorPage<T>>(path, { signal });
    setState((state) => merge(body, state, idOf));
  };
  // Until the effect has run, the rows are those of another path.
  const shown = state.path === path ? state : empty('');
  return { ...shown, hasMore: shown.cursor !== null, more, reload, refresh };
}

/** The new first page, followed by the rows of later pages if the two still overlap; else alone, and later pages are read again. */
function merge<T>({ data, next_cursor }: CursorPage<T>, old: Rows<T>, idOf: (row: T) => string): Rows<T> {
  const ids = data.map(idOf);
  const at = old.rows.findIndex((row) => idOf(row) === ids.at(-1));
  const overlaps = at >= 0 && at < data.length && data.length < old.rows.length;
  if (!overlaps) return { ...old, rows: data, cursor: next_cursor };
  return { ...old, rows: [...data, ...old.rows.filter((row) => !ids.includes(idOf(row)))] };
}

function withCursor(path: string, cursor: string | null): string {
  if (cursor === null) return path;
  return `${path}${path.includes('?') ? '&' : '?'}cursor=${encodeURIComponent(cursor)}`;
}

/** All rows of a list; none until they are loaded. */
export type All<T> = Omit<List<T>, 'refresh'>;

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
  /** Returns whether it succeeded. */
  const attempt = async (work: () => Promise<void>): Promise<boolean> => {
    setBusy(true);
    setError(undefined);
    const error = await work().then(
      () => undefined,
      (error: ApiError) => error,
    );
    setError(error);
    setBusy(false);
    return error === undefined;
  };
  return { error, isBusy, attempt };
}
