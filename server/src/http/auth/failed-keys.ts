import { type KeyKind, keyKinds } from '../../contract/key-kinds.ts';
import { limits } from '../../contract/limits.ts';
import type { Caller } from '../../domain/caller.ts';
import { ServiceError } from '../../domain/errors.ts';
import type { FailedKeyReason, Metrics } from '../observe/metrics.ts';
import type { SharedState } from '../workers/context.ts';
import { secondsLeft, type Window, WindowCounter } from '../workers/window-counter.ts';
import { tooMany } from './rate-limits.ts';

const failureWindowMillis = 60_000;

/** Rejects keys, and counts the rejected ones: those of this service by address, those of the upstream by digest. */
export class FailedKeys {
  readonly #clock: () => number;
  readonly #metrics: Metrics;
  readonly #byAddress: WindowCounter;
  readonly #byDigest: WindowCounter;

  constructor(clock: () => number, metrics: Metrics, { failedKeys, rejectedKeys }: SharedState) {
    this.#clock = clock;
    this.#metrics = metrics;
    this.#byAddress = new WindowCounter(failedKeys, failureWindowMillis);
    this.#byDigest = new WindowCounter(rejectedKeys, failureWindowMillis);
  }

  /** Only unknown keys count towards the limit. Once it is reached, the response to all invalid keys is 429. */
  reject(address: string, reason: FailedKeyReason, wrong?: WrongKind): never {
    this.#metrics.countEvent('failedKeys', reason);
    const now = this.#clock();
    const isCounted = reason === 'unknown';
    const window = isCounted ? this.#byAddress.hit(address, now) : this.#byAddress.get(address, now);
    if (window.count + (isCounted ? 0 : 1) > limits.failedKeysPerMinuteMax) {
      this.#throttle('too many failed keys from this address', window, now);
    }
    throw wrong === undefined
      ? new ServiceError('unauthorized', 'the API key is missing or invalid')
      : wrongKind(wrong);
  }

  /** Counts a failed sign-in by name. Throws if there were too many. */
  countFailure(address: string): void {
    this.#metrics.countEvent('failedKeys', 'unknown');
    const now = this.#clock();
    const window = this.#byAddress.hit(address, now);
    if (window.count > limits.failedKeysPerMinuteMax)
      this.#throttle('too many failed sign-ins from this address', window, now);
  }

  /** By key, not by address: all clients behind a proxy have the same one. */
  countRejection(digest: string): void {
    this.#byDigest.hit(digest, this.#clock());
  }

  /** Throws if the upstream has rejected this key too often: further requests with it would only load the upstream. */
  limitRejections(digest: string): void {
    const now = this.#clock();
    const window = this.#byDigest.get(digest, now);
    if (window.count < limits.failedKeysPerMinuteMax) return;
    this.#metrics.countEvent('failedKeys', 'unknown');
    this.#throttle('this key has failed too often', window, now);
  }

  #throttle(message: string, window: Window, now: number): never {
    this.#metrics.countEvent('throttled', 'failed_keys');
    throw tooMany(message, secondsLeft(window, now));
  }
}

/** A valid key, and the kinds that the route requires. */
type WrongKind = { caller: Caller; kinds: readonly KeyKind[] };

/** The prefix of a secret says its kind anyway, and only the owner of a valid key gets this message. */
function wrongKind({ caller, kinds }: WrongKind): ServiceError {
  const names = keyKinds.filter((kind) => kinds.includes(kind)).join(' or ');
  const error = new ServiceError(
    'unauthorized',
    `a key of kind ${names} is required; this key is of kind ${caller.kind}`,
  );
  return Object.assign(error, { wrongKindKey: caller.key_id });
}
