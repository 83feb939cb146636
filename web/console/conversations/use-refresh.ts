import { useEffect, useRef, useState } from '../../shared/dom.ts';

const refreshMillis = 10_000;
/** One failure mends itself more often than not; from the next on it is worth a word. */
const failuresMin = 2;

/**
 * Asks for news while somebody can see the page, and at once when they come back to it. Says whether that fails.
 * `refresh` gives undefined where this is no time to ask.
 */
export function useRefresh(refresh: () => Promise<unknown> | undefined): boolean {
  const [failures, setFailures] = useState(0);
  const latest = useRef(refresh);
  latest.current = refresh;
  useEffect(() => {
    let isAsking = false;
    const ask = async () => {
      if (document.hidden || isAsking) return;
      isAsking = true;
      await latest.current()?.then(
        () => setFailures(0),
        () => setFailures((failures) => failures + 1),
      );
      isAsking = false;
    };
    const timer = setInterval(ask, refreshMillis);
    document.addEventListener('visibilitychange', ask);
    return () => {
      clearInterval(timer);
      document.removeEventListener('visibilitychange', ask);
    };
  }, []);
  return failures >= failuresMin;
}
