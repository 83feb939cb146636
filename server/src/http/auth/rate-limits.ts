import type { ServerResponse } from 'node:http';
import { ServiceError } from '../../domain/errors.ts';
import type { Metrics } from '../observe/metrics.ts';
import { WindowCounter } from './window-counter.ts';

/** So many of something a second for one key. */
type Limit = { name: 'requests' | 'writes'; max: number; counter: WindowCounter };

const windowSeconds = 1;

/** What one key may ask for in a second. Without limits it counts nothing and says nothing. */
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
   * Counts a request and puts what is left into the headers of its answer, whatever the answer will be; throws where it
   * is one too many. What is refused as a request is not counted as a write.
   */
  count(key_id: string, isWrite: boolean, now: number, response: ServerResponse): void {
    const limits = isWrite ? this.#ofWrites : this.#ofReads;
    if (limits.length === 0) return;
    const exceeded = limits.find(({ counter, max }) => counter.hit(key_id, now) > max);
    tell(response, key_id, limits, now);
    if (exceeded === undefined) return;
    const { name, max, counter } = exceeded;
    this.#metrics.throttled[name] += 1;
    throw tooMany(`more than ${max} ${name} a second`, counter.secondsLeft(key_id, now));
  }
}

function limitOf(name: Limit['name'], max: number): Limit[] {
  return max === 0 ? [] : [{ name, max, counter: new WindowCounter(windowSeconds * 1000) }];
}

/** The fields of the IETF's draft, and the older three that more clients read, which tell of the limit that is nearest. */
function tell(response: ServerResponse, key_id: string, limits: readonly Limit[], now: number): void {
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
