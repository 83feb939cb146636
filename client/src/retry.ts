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

/** `Retry-After` in seconds. It may be a date, which is compared with the service's own clock. */
export function retryAfterOf(headers: Headers): number | undefined {
  const value = headers.get('retry-after')?.trim();
  if (!value) return undefined;
  if (/^\d+$/.test(value)) return Number(value);
  const date = Date.parse(value);
  if (Number.isNaN(date)) return undefined;
  const now = Date.parse(headers.get('date') ?? '') || Date.now();
  return Math.max(0, (date - now) / 1000);
}

/** Ends early if the signal aborts; the next attempt then throws. */
export function sleep(millis: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, signal?.aborted ? 0 : millis);
    signal?.addEventListener('abort', end);
  });
}
