import { useEffect, useState } from '../../shared/dom.ts';
import { type ApiError, request } from '../state/api.ts';

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
    const readNow = () => {
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
        (error: ApiError) => show(() => setError(error)),
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
      controller.abort();
    };
  }, [key, refreshMillis]);
  return { body: last?.key === key ? last.body : undefined, error, reload };
}

/** The response to a GET request. */
export const useResponse = <T>(path: string, refreshMillis?: number): Reading<T> =>
  useReading(path, async (signal) => (await request<T>(path, { signal })).body, refreshMillis);
