import type { ServerResponse } from 'node:http';
import { ServiceError } from '../../domain/errors.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { SharedState } from '../workers/context.ts';
import { secondsLeft, type Window, WindowCounter } from '../workers/window-counter.ts';

/** Limits of requests and writes per key and second. */
type Limit = { name: 'requests' | 'writes'; max: number; counter: WindowCounter };

type LimitState = { name: Limit['name']; max: number; window: Window };
type RateLimitSettings = { rate_limit: number; write_limit: number };

const windowSeconds = 1;

/** Rate limits by key. Without limits nothing is counted, and no headers are set. */
export class RateLimits {
  readonly #metrics: Metrics;
  readonly #ofReads: readonly Limit[];
  readonly #ofWrites: readonly Limit[];

  constructor(metrics: Metrics, { rate_limit, write_limit }: RateLimitSettings, shared: SharedState) {
    this.#metrics = metrics;
    this.#ofReads = limitOf('requests', rate_limit, shared.requestLimit);
    this.#ofWrites = [...this.#ofReads, ...limitOf('writes', write_limit, shared.writeLimit)];
  }

  /**
   * Counts a request and sets the rate limit headers of its response, whatever its status will be. Throws if a limit is
   * exceeded. A request that exceeds the limit of requests is not counted as a write.
   */
  count(key_id: string, isWrite: boolean, now: number, response: ServerResponse): void {
    this.#count(isWrite ? this.#ofWrites : this.#ofReads, key_id, now, response);
  }

  /** Counts a request as a write, too, that was counted as a read. */
  countWrite(key_id: string, now: number, response: ServerResponse): void {
    this.#count(this.#ofWrites.slice(this.#ofReads.length), key_id, now, response);
  }

  #count(limits: readonly Limit[], key_id: string, now: number, response: ServerResponse): void {
    if (limits.length === 0) return;
    let exceeded: LimitState | undefined;
    const states = limits.map(({ name, max, counter }): LimitState => {
      const window = exceeded === undefined ? counter.hit(key_id, now) : counter.get(key_id, now);
      const state = { name, max, window };
      if (window.count > max) exceeded ??= state;
      return state;
    });
    setHeaders(response, states, now);
    if (exceeded === undefined) return;
    const { name, max, window } = exceeded;
    this.#metrics.countEvent('throttled', name);
    throw tooMany(`more than ${max} ${name} a second`, secondsLeft(window, now));
  }
}

function limitOf(name: Limit['name'], max: number, memory: SharedArrayBuffer): Limit[] {
  return max === 0 ? [] : [{ name, max, counter: new WindowCounter(memory, windowSeconds * 1000) }];
}

/** Two headers of the IETF draft, and the three older ones that more clients read, which describe the nearest limit. */
function setHeaders(response: ServerResponse, states: readonly LimitState[], now: number): void {
  const shown = states.map(({ name, max, window }) => ({
    name,
    max,
    left: Math.max(0, max - window.count),
    seconds: secondsLeft(window, now),
  }));
  const nearest = shown.reduce((one, other) => (other.left < one.left ? other : one));
  const policies = shown.map(({ name, max }) => `"${name}";q=${max};w=${windowSeconds}`);
  response.setHeader('ratelimit-policy', policies.join(', '));
  response.setHeader(
    'ratelimit',
    shown.map(({ name, left, seconds }) => `"${name}";r=${left};t=${seconds}`).join(', '),
  );
  response.setHeader('ratelimit-limit', nearest.max);
  response.setHeader('ratelimit-remaining', nearest.left);
  response.setHeader('ratelimit-reset', nearest.seconds);
}

export const tooMany = (message: string, retryAfterSeconds: number) =>
  new ServiceError('too_many_requests', message, { retryAfterSeconds });
