import { useEffect, useState } from '../../shared/dom.ts';
import { type ApiError, request } from '../parts/api.ts';
import type { Traffic } from '../parts/types.ts';

const refreshMillis = 10_000;

/** The last hour, refreshed while the page is visible. */
export function useTraffic(): { traffic: Traffic | undefined; error: ApiError | undefined; refresh: () => void } {
  const [traffic, setTraffic] = useState<Traffic>();
  const [error, setError] = useState<ApiError>();
  const [refresh, setRefresh] = useState<() => void>(() => () => undefined);
  useEffect(() => {
    const controller = new AbortController();
    const { signal } = controller;
    const readNow = () => {
      if (document.visibilityState === 'hidden') return;
      request<Traffic>('/admin/traffic', { signal }).then(
        ({ body }) => {
          setTraffic(body);
          setError(undefined);
        },
        (error: ApiError) => signal.aborted || setError(error),
      );
    };
    readNow();
    setRefresh(() => readNow);
    const timer = setInterval(readNow, refreshMillis);
    document.addEventListener('visibilitychange', readNow, { signal });
    return () => {
      clearInterval(timer);
      controller.abort();
    };
  }, []);
  return { traffic, error, refresh };
}
