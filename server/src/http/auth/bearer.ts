import { timingSafeEqual } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify';
import { limits } from '../../contract/limits.ts';
import type { KeyKind } from '../../contract/record.ts';
import { type AuthenticatedCaller, authenticate } from '../../domain/authenticate.ts';
import type { Caller, CallerOf } from '../../domain/caller.ts';
import { ServiceError } from '../../domain/errors.ts';
import type { LastUsed } from '../../domain/last-used.ts';
import { RecentMap } from '../../domain/recent-map.ts';
import { digestOf } from '../../domain/secret.ts';
import type { StoredSession } from '../../domain/session.ts';
import type { Store } from '../../domain/store.ts';
import type { Metrics } from '../observe/metrics.ts';
import { type RateLimits, tooMany } from './rate-limits.ts';
import { sessionDigest } from './session-cookie.ts';
import { WindowCounter } from './window-counter.ts';

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller | null;
  }
}

/** A check that comes before the body is looked at; what it throws is the answer. Not a promise: most need not wait. */
export function checkFirst(check: (request: FastifyRequest, reply: FastifyReply) => void): onRequestHookHandler {
  return (request, reply, done) => {
    try {
      check(request, reply);
    } catch (error) {
      done(error as Error);
      return;
    }
    done();
  };
}

/** Opens a route for some kinds of key. Whatever is wrong with a key, the answer is one and the same. */
export class Bearer {
  readonly #store: Store;
  readonly #clock: () => number;
  readonly #metrics: Metrics;
  readonly #limits: RateLimits;
  readonly #uses: LastUsed;
  readonly #failures = new WindowCounter(60_000);
  /** By digest; each holds while the database bears the mark it was found under. */
  readonly #callers = new RecentMap<AuthenticatedCaller & { mark: number }>(limits.callersMin);

  constructor(store: Store, clock: () => number, metrics: Metrics, limits: RateLimits, uses: LastUsed) {
    this.#uses = uses;
    this.#store = store;
    this.#clock = clock;
    this.#metrics = metrics;
    this.#limits = limits;
  }

  /** The check that comes before anything else about a request. `token` opens the route too. */
  requireKey(kinds: readonly KeyKind[], token?: string): onRequestHookHandler {
    const tokenDigest = token === undefined ? undefined : digestOf(token);
    const countRequest = (request: FastifyRequest, reply: FastifyReply, caller: Caller | undefined): void => {
      if (caller === undefined) return this.reject(request.ip, 'unknown');
      if (!kinds.includes(caller.kind)) return this.reject(request.ip, 'wrong_kind');
      request.caller = caller;
      this.admit(caller, request.method, reply.raw);
    };
    return (request, reply, done) => {
      try {
        const digest = bearerDigest(request.headers.authorization);
        if (digest === undefined) return this.reject(request.ip, 'missing');
        if (tokenDigest !== undefined && sameDigest(digest, tokenDigest)) return done();
        const dataVersion = this.#store.dataVersion();
        const caller = this.cachedCaller(digest, dataVersion);
        if (caller === undefined) {
          const found = this.find(digest, dataVersion).then((caller) => countRequest(request, reply, caller));
          return void found.then(() => done(), done);
        }
        countRequest(request, reply, caller);
      } catch (error) {
        return done(error as Error);
      }
      done();
    };
  }

  /** The same for what the console stands on: an admin key, or a session that was made from one. */
  requireAdmin(): onRequestHookHandler {
    const byKey = this.requireKey(['admin']);
    const bearer = this;
    return function (request, reply, done) {
      const opened = (error?: Error) => {
        if (error === undefined) reply.header('cache-control', 'no-store');
        done(error);
      };
      const { authorization } = request.headers;
      const isSession = authorization === undefined && sessionDigest(request.headers) !== undefined;
      if (!isSession) return byKey.call(this, request, reply, opened);
      bearer.admitSession(request, reply).then(() => opened(), opened);
    };
  }

  /** The session that a request's cookie stands for. */
  async admitSession(request: FastifyRequest, reply: FastifyReply): Promise<StoredSession> {
    const digest = sessionDigest(request.headers);
    if (digest === undefined) return this.reject(request.ip, 'missing');
    const session = await this.#store.sessions.find(digest, this.#seconds());
    if (session === undefined) return this.reject(request.ip, 'unknown');
    const caller: Caller = { kind: 'admin', key_id: session.key_id };
    request.caller = caller;
    this.admit(caller, request.method, reply.raw);
    return session;
  }

  /** Whose admin key this is; for a secret that does not come as a header. */
  async identify(request: FastifyRequest, secret: string): Promise<{ caller: CallerOf<'admin'>; digest: string }> {
    const digest = digestOf(secret);
    const caller = await this.find(digest, this.#store.dataVersion());
    if (caller === undefined) return this.reject(request.ip, 'unknown');
    if (caller.kind !== 'admin') return this.reject(request.ip, 'wrong_kind');
    request.caller = caller;
    this.#uses.add(caller.key_id, this.#seconds());
    return { caller, digest };
  }

  /** The caller of a digest, where the database has not changed since it was found. */
  cachedCaller(digest: string, dataVersion: number | undefined): Caller | undefined {
    const found = this.#callers.get(digest);
    return found !== undefined && found.mark === dataVersion && found.until > this.#seconds()
      ? found.caller
      : undefined;
  }

  /** Asks the store, whose mark this is. */
  async find(digest: string, dataVersion: number | undefined): Promise<Caller | undefined> {
    const found = await authenticate(this.#store, digest, this.#seconds());
    if (found !== undefined && dataVersion !== undefined) {
      this.#callers.set(digest, { ...found, mark: dataVersion });
    }
    return found?.caller;
  }

  /** Counts a request of this caller, which the answer's headers tell; throws where it is one too many. */
  admit({ key_id }: Caller, method: string, response: ServerResponse): void {
    this.#uses.add(key_id, this.#seconds());
    this.#limits.count(key_id, method !== 'GET' && method !== 'HEAD', this.#clock(), response);
  }

  #seconds(): number {
    return Math.floor(this.#clock() / 1000);
  }

  /** Only secrets that open nothing count towards the limit, but once it is reached all failures look alike. */
  reject(address: string, reason: keyof Metrics['failedKeys']): never {
    this.#metrics.failedKeys[reason] += 1;
    const now = this.#clock();
    const counts = reason === 'unknown';
    const failures = counts ? this.#failures.hit(address, now) : this.#failures.count(address, now) + 1;
    if (failures > limits.failedKeysPerMinuteMax) {
      this.#metrics.throttled.failed_keys += 1;
      throw tooMany('too many failed keys from this address', this.#failures.secondsLeft(address, now));
    }
    throw new ServiceError('unauthorized', 'the API key is missing or invalid');
  }
}

/** The digest of the secret that an Authorization header carries; undefined where it carries none. */
export function bearerDigest(header: string | undefined): string | undefined {
  const secret = header === undefined ? undefined : /^bearer +([\x21-\x7e]+) *$/i.exec(header)?.[1];
  return secret === undefined ? undefined : digestOf(secret);
}

function sameDigest(one: string, other: string): boolean {
  return timingSafeEqual(Buffer.from(one), Buffer.from(other));
}

/** The caller of a route that only this kind opens. */
export function callerOf<K extends KeyKind>(request: FastifyRequest, kind: K): CallerOf<K> {
  if (request.caller?.kind !== kind) throw new Error(`the route is not opened by kind ${kind} alone`);
  return request.caller as CallerOf<K>;
}
