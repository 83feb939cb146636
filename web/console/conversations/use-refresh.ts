import { useEffect, useRef, useState } from '../../shared/dom.ts';

const refreshMillis = 10_000;
/** A single failure is usually over by the next request; from the second on it is shown. */
const failuresMin = 2;

/**
 * Refreshes while the page is visible, and at once when it becomes visible again. Returns whether that fails. `refresh`
 * returns undefined if this is not the time to refresh.
 */
export function useRefresh(refresh: () => Promise<unknown> | undefined): boolean {
  const [failures, setFailures] = useState(0);
  const latest = useRef(refresh);
  latest.current = refresh;
  useEffect(() => {
    let isBusy = false;
    const refreshNow = async () => {
      if (document.hidden || isBusy) return;
      isBusy = true;
      await latest.current()?.then(
        () => setFailures(0),
        () => setFailures((failures) => failures + 1),
      );
      isBusy = false;
    };
    const timer = setInterval(refreshNow, refreshMillis);
    document.addEventListener('visibilitychange', refreshNow);
    return () => {
      clearInterval(timer);
      document.removeEventListener('visibilitychange', refreshNow);
    };
  }, []);
  return failures >= failuresMin;
}
