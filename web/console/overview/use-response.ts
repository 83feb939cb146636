import { useEffect, useState } from '../../shared/dom.ts';
import { type ApiError, request } from '../parts/api.ts';

export type Response<T> = { body: T | undefined; error: ApiError | undefined; reload: () => void };

/**
 * The response to a GET request, which is sent again every `refreshMillis` while the page is visible. After an error the last
 * response stays.
 */
export function useResponse<T>(path: string, refreshMillis?: number): Response<T> {
  const [last, setLast] = useState<{ path: string; body: T }>();
  const [error, setError] = useState<ApiError>();
  const [reload, setReload] = useState<() => void>(() => () => undefined);
  useEffect(() => {
    const controller = new AbortController();
    const { signal } = controller;
    const readNow = () => {
      request<T>(path, { signal }).then(
        ({ body }) => {
          setLast({ path, body });
          setError(undefined);
        },
        (error: ApiError) => signal.aborted || setError(error),
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
  }, [path, refreshMillis]);
  return { body: last?.path === path ? last.body : undefined, error, reload };
}
