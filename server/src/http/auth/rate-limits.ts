import type { ServerResponse } from 'node:http';
import { ServiceError } from '../../domain/errors.ts';
import type { Metrics } from '../observe/metrics.ts';
import { WindowCounter } from './window-counter.ts';

/** How many requests or writes one key may send in a second. */
type Limit = { name: 'requests' | 'writes'; max: number; counter: WindowCounter };

const windowSeconds = 1;

/** Rate limits by key. Without limits nothing is counted, and no headers are set. */
export class RateLimits {
  readonly #metrics: Metrics;
  readonly #ofReads: readonly Limit[];
  readonly #ofWrites: readonly Limit[];

  constructor(metrics: Metrics, { rate_limit, write_limit }: { rate_limit: number; write_limit: number }) {
    this.#metrics = metrics;
    this.#ofReads = limitOf('requests', rate_limit);
    this.#ofWrites = [...this.#ofReads, ...limitOf('writes', write_limit)];
  }

  /**
   * Counts a request and sets the rate limit headers of its response, whatever its status will be. Throws if a limit is
   * exceeded. A request that exceeds the limit of requests is not counted as a write.
   */
  count(key_id: string, isWrite: boolean, now: number, response: ServerResponse): void {
    const limits = isWrite ? this.#ofWrites : this.#ofReads;
    if (limits.length === 0) return;
    const exceeded = limits.find(({ counter, max }) => counter.hit(key_id, now) > max);
    setHeaders(response, key_id, limits, now);
    if (exceeded === undefined) return;
    const { name, max, counter } = exceeded;
    this.#metrics.throttled[name] += 1;
    throw tooMany(`more than ${max} ${name} a second`, counter.secondsLeft(key_id, now));
  }
}

function limitOf(name: Limit['name'], max: number): Limit[] {
  return max === 0 ? [] : [{ name, max, counter: new WindowCounter(windowSeconds * 1000) }];
}

/** Two headers of the IETF draft, and the three older ones that more clients read, which describe the nearest limit. */
function setHeaders(response: ServerResponse, key_id: string, limits: readonly Limit[], now: number): void {
  const states = limits.map(({ name, max, counter }) => ({
    name,
    max,
    left: Math.max(0, max - counter.count(key_id, now)),
    seconds: counter.secondsLeft(key_id, now),
  }));
  const nearest = states.reduce((one, other) => (other.left < one.left ? other : one));
  const policies = states.map(({ name, max }) => `"${name}";q=${max};w=${windowSeconds}`);
  response.setHeader('ratelimit-policy', policies.join(', '));
  response.setHeader(
    'ratelimit',
    states.map(({ name, left, seconds }) => `"${name}";r=${left};t=${seconds}`).join(', '),
  );
  response.setHeader('ratelimit-limit', nearest.max);
  response.setHeader('ratelimit-remaining', nearest.left);
  response.setHeader('ratelimit-reset', nearest.seconds);
}

export const tooMany = (message: string, seconds: number) => new ServiceError('too_many_requests', message, seconds);
