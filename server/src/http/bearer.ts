import { timingSafeEqual } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { limits } from '../contract/limits.ts';
import type { KeyKind } from '../contract/record.ts';
import type { Caller, CallerOf } from '../domain/caller.ts';
import { ServiceError } from '../domain/errors.ts';
import { findCaller } from '../domain/find-caller.ts';
import { digestOf } from '../domain/secret.ts';
import type { Store } from '../domain/store.ts';
import { WindowCounter } from './window-counter.ts';

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller | null;
  }
}

export type KeyCheck = (request: FastifyRequest, reply: FastifyReply) => Promise<void>;

/** Opens a route for some kinds of key. Whatever is wrong with a key, the answer is one and the same. */
export class Bearer {
  readonly #store: Store;
  readonly #clock: () => number;
  readonly #rateLimit: number;
  readonly #failures = new WindowCounter(60_000);
  readonly #requests = new WindowCounter(1_000);

  constructor(store: Store, clock: () => number, rateLimit: number) {
    this.#store = store;
    this.#clock = clock;
    this.#rateLimit = rateLimit;
  }

  /** The check that comes before anything else about a request. `token` opens the route too. */
  opens(kinds: readonly KeyKind[], token?: string): KeyCheck {
    const tokenDigest = token === undefined ? undefined : digestOf(token);
    return async (request) => {
      const secret = bearerSecret(request.headers.authorization);
      if (secret === undefined) return this.#refuse(request.ip, false);
      if (tokenDigest !== undefined && sameDigest(digestOf(secret), tokenDigest)) return;
      const caller = await findCaller(this.#store, secret, Math.floor(this.#clock() / 1000));
      if (caller === undefined) return this.#refuse(request.ip, true);
      if (!kinds.includes(caller.kind)) return this.#refuse(request.ip, false);
      if (this.#rateLimit > 0) this.#limit(caller.key_id);
      request.caller = caller;
    };
  }

  /** Only secrets that open nothing count towards the limit, but once it is reached all failures look alike. */
  #refuse(address: string, counts: boolean): never {
    const now = this.#clock();
    const failures = counts ? this.#failures.hit(address, now) : this.#failures.count(address, now) + 1;
    if (failures > limits.failedKeysPerMinuteMax) {
      throw tooMany('too many failed keys from this address', this.#failures.secondsLeft(address, now));
    }
    throw new ServiceError('unauthorized', 'the API key is missing or invalid');
  }

  #limit(key_id: string): void {
    const now = this.#clock();
    if (this.#requests.hit(key_id, now) <= this.#rateLimit) return;
    throw tooMany(`more than ${this.#rateLimit} requests a second`, this.#requests.secondsLeft(key_id, now));
  }
}

const tooMany = (message: string, seconds: number) => new ServiceError('too_many_requests', message, seconds);

function bearerSecret(header: string | undefined): string | undefined {
  return header === undefined ? undefined : /^bearer +([\x21-\x7e]+) *$/i.exec(header)?.[1];
}

function sameDigest(one: string, other: string): boolean {
  return timingSafeEqual(Buffer.from(one), Buffer.from(other));
}

/** The caller of a route that only this kind opens. */
export function callerOf<K extends KeyKind>(request: FastifyRequest, kind: K): CallerOf<K> {
  if (request.caller?.kind !== kind) throw new Error(`the route is not opened by kind ${kind} alone`);
  return request.caller as CallerOf<K>;
}
