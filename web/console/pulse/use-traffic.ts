import { useEffect, useState } from '../../shared/dom.ts';
import { type ApiError, request } from '../parts/api.ts';
import type { Traffic } from '../parts/types.ts';

const refreshMillis = 10_000;

/** The last hour, asked for anew while somebody looks. */
export function useTraffic(): { traffic: Traffic | undefined; error: ApiError | undefined; look: () => void } {
  const [traffic, setTraffic] = useState<Traffic>();
  const [error, setError] = useState<ApiError>();
  const [look, setLook] = useState<() => void>(() => () => undefined);
  useEffect(() => {
    const controller = new AbortController();
    const { signal } = controller;
    const look = () => {
      if (document.visibilityState === 'hidden') return;
      request<Traffic>('/admin/traffic', { signal }).then(
        ({ body }) => {
          setTraffic(body);
          setError(undefined);
        },
        (error: ApiError) => signal.aborted || setError(error),
      );
    };
    look();
    setLook(() => look);
    const timer = setInterval(look, refreshMillis);
    document.addEventListener('visibilitychange', look, { signal });
    return () => {
      clearInterval(timer);
      controller.abort();
    };
  }, []);
  return { traffic, error, look };
}
