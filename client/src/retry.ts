import { ApiError, type BackscrollError, Connection, Timeout } from './errors.ts';

export const limits = {
  timeoutMillis: 10_000,
  retries: 2,
  waitMillisMax: 30_000,
  backoffMillis: 200,
  backoffMillisMax: 5_000,
  /** The longest delay of a timer; a longer one would end at once. */
  timerMillisMax: 2_147_483_647,
} as const;

/** Statuses of temporary failures: of the service, and of a proxy that did not reach it. */
const passing: ReadonlySet<number> = new Set([408, 429, 502, 503, 504]);

/** Milliseconds to wait before a retry; undefined if a retry would not help. */
export function waitBefore(attempt: number, error: BackscrollError, waitMillisMax: number): number | undefined {
  if (error instanceof Timeout || error instanceof Connection) return Math.min(backoff(attempt), waitMillisMax);
  if (!(error instanceof ApiError) || !passing.has(error.status)) return undefined;
  const asked = (error.retryAfter ?? 0) * 1000;
  // An earlier retry would be rejected again, and a later one is more than the caller allows.
  return asked > waitMillisMax ? undefined : Math.min(asked + backoff(attempt), waitMillisMax);
}

/** Doubles with every attempt; half of it is random, so that many clients do not retry at the same time. */
function backoff(attempt: number): number {
  const millis = Math.min(limits.backoffMillis * 2 ** attempt, limits.backoffMillisMax);
  return millis * (0.5 + Math.random() / 2);
}
