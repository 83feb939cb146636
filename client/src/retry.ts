import { ApiError, type BackscrollError, Connection, Timeout } from './errors.ts';

export const limits = {
  timeoutMillis: 10_000,
  retries: 2,
  waitMillisMax: 30_000,
  backoffMillis: 200,
  backoffMillisMax: 5_000,
  /** The longest that timers take; a longer one ends at once. */
  timerMillisMax: 2_147_483_647,
} as const;

/** Statuses that say "not now": ours, and those of a proxy that did not get through to us. */
const passing: ReadonlySet<number> = new Set([408, 429, 502, 503, 504]);

/** Milliseconds to wait before trying again; undefined where that would not help. */
export function waitBefore(attempt: number, error: BackscrollError, waitMillisMax: number): number | undefined {
  if (error instanceof Timeout || error instanceof Connection) return Math.min(backoff(attempt), waitMillisMax);
  if (!(error instanceof ApiError) || !passing.has(error.status)) return undefined;
  const asked = (error.retryAfter ?? 0) * 1000;
  // Coming back earlier than asked is refused again, and later than the caller allows is not for us to decide.
  return asked > waitMillisMax ? undefined : Math.min(asked + backoff(attempt), waitMillisMax);
}

/** Doubles with every attempt; half of it is chance, so that many clients do not come back together. */
function backoff(attempt: number): number {
  const millis = Math.min(limits.backoffMillis * 2 ** attempt, limits.backoffMillisMax);
  return millis * (0.5 + Math.random() / 2);
}
