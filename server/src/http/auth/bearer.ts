import { timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify';
import { type KeyKind, keyKinds } from '../../contract/key-kinds.ts';
import { limits } from '../../contract/limits.ts';
import type { Caller, CallerOf } from '../../domain/caller.ts';
import { asError, ServiceError } from '../../domain/errors.ts';
import { authenticate } from '../../domain/keys/authenticate.ts';
import type { KeyUses } from '../../domain/keys/key-uses.ts';
import { digestOf } from '../../domain/secret.ts';
import type { StoredSession } from '../../domain/store/keys.ts';
import type { Store } from '../../domain/store/store.ts';
import type { FailedKeyReason, Metrics } from '../observe/metrics.ts';
import { secondsLeft, type Window, WindowCounter } from '../workers/window-counter.ts';
import { type RateLimits, tooMany } from './rate-limits.ts';
import { sessionDigest } from './session-cookie.ts';

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller | null;
  }
  interface FastifyContextConfig {
    /** A request reads, unless its body says that it writes: then its route calls `countWrite`. */
    bodyDecides?: boolean;
  }
}

const failureWindowMillis = 60_000;

export type BearerOptions = {
  store: Store;
  /** Milliseconds since the epoch. */
  clock: () => number;
  metrics: Metrics;
  limits: RateLimits;
  uses: KeyUses;
  /** Shared memory in which failed keys are counted by address. */
  failedKeys: SharedArrayBuffer;
  /** Shared memory in which keys that the upstream has rejected are counted by digest. */
  rejectedKeys: SharedArrayBuffer;
};

type FoundCaller = Caller | undefined | Promise<Caller | undefined>;

/** Authenticates requests by API key or console session. The response is the same for all unknown, expired and revoked keys. */
export class Bearer {
  readonly #store: Store;
  readonly #clock: () => number;
  readonly #metrics: Metrics;
  readonly #limits: RateLimits;
  readonly #uses: KeyUses;
  readonly #failures: WindowCounter;
  readonly #rejections: WindowCounter;
  readonly #callers = new WeakMap<IncomingMessage, { caller: FoundCaller }>();

  constructor({ store, clock, metrics, limits, uses, failedKeys, rejectedKeys }: BearerOptions) {
    this.#store = store;
    this.#clock = clock;
    this.#metrics = metrics;
    this.#limits = limits;
    this.#uses = uses;
    this.#failures = new WindowCounter(failedKeys, failureWindowMillis);
    this.#rejections = new WindowCounter(rejectedKeys, failureWindowMillis);
  }

  /** A hook that requires a key of one of these kinds, or the token. It runs before all other checks of a request. */
  requireKey(kinds: readonly KeyKind[], token?: string): onRequestHookHandler {
    const tokenDigest = token === undefined ? undefined : digestOf(token);
    const allow = (request: FastifyRequest, reply: FastifyReply, caller: Caller | undefined): void => {
      if (caller === undefined) return this.reject(request.ip, 'unknown');
      if (!kinds.includes(caller.kind)) return this.reject(request.ip, 'wrong_kind', { caller, kinds });
      this.#admit(request, reply, caller);
    };
    return (request, reply, done) => {
      try {
        const digest = bearerDigest(request.headers.authorization);
        if (digest === undefined) return this.reject(request.ip, 'missing');
        if (tokenDigest !== undefined && isSameDigest(digest, tokenDigest)) return done();
        const caller = this.callerOf(request.raw, digest);
        if (caller instanceof Promise) {
          return void caller.then((foundCaller) => allow(request, reply, foundCaller)).then(() => done(), done);
        }
        allow(request, reply, caller);
      } catch (error) {
        return done(asError(error));
      }
      done();
    };
  }

  /** A hook that requires a key of one of these kinds, or a console session that was created with an admin key. */
  requireAdmin(kinds: readonly KeyKind[] = ['admin']): onRequestHookHandler {
    const requireKey = this.requireKey(kinds);
    const bearer = this;
    return function (request, reply, done) {
      const finish = (error?: Error) => {
        if (error === undefined) reply.header('cache-control', 'no-store');
        done(error);
      };
      const { authorization } = request.headers;
      const isSession = authorization === undefined && sessionDigest(request.headers) !== undefined;
      if (!isSession) return requireKey.call(this, request, reply, finish);
      bearer.requireSession(request, reply).then(() => finish(), finish);
    };
  }

  /** The console session of the request's cookie. */
  async requireSession(request: FastifyRequest, reply: FastifyReply): Promise<StoredSession> {
    const digest = sessionDigest(request.headers);
    if (digest === undefined) return this.reject(request.ip, 'missing');
    const session = await this.#store.sessions.find(digest, this.#seconds());
    if (session === undefined) return this.reject(request.ip, 'unknown');
    this.#admit(request, reply, { kind: 'admin', key_id: session.key_id, read_only: session.read_only });
    return session;
  }

  #admit(request: FastifyRequest, reply: FastifyReply, caller: Caller): void {
    request.caller = caller;
    const method = request.routeOptions.config.bodyDecides ? 'GET' : request.method;
    this.countRequest(caller, method, reply.raw);
    if (isWrite(method)) requireWriting(caller);
  }

  /** Counts a write that only the body of a request names. Throws if the key is read-only, or the limit is exceeded. */
  countWrite(caller: Caller, response: ServerResponse): void {
    requireWriting(caller);
    this.#limits.countWrite(caller.key_id, this.#clock(), response);
  }

  /** The caller of a long request as it is now: what its key allows may have changed. Undefined if it is no longer valid. */
  async findCallerAgain({ headers, caller }: FastifyRequest): Promise<Caller | undefined> {
    const digest = bearerDigest(headers.authorization);
    if (digest !== undefined) {
      const current = await this.authenticate(digest, this.#store.dataVersion());
      return current?.key_id === caller?.key_id ? current : undefined;
    }
    const session = sessionDigest(headers);
    const isOpen = session !== undefined && (await this.#store.sessions.find(session, this.#seconds())) !== undefined;
    return isOpen ? (caller ?? undefined) : undefined;
  }

  /** Authenticates the admin key in the body of a request. */
  async requireAdminSecret(
    request: FastifyRequest,
    secret: string,
  ): Promise<{ caller: CallerOf<'admin'>; digest: string }> {
    const digest = digestOf(secret);
    const caller = await this.authenticate(digest, this.#store.dataVersion());
    if (caller === undefined) return this.reject(request.ip, 'unknown');
    if (caller.kind !== 'admin') return this.reject(request.ip, 'wrong_kind', { caller, kinds: ['admin'] });
    request.caller = caller;
    this.#uses.add(caller.key_id, this.#seconds());
    return { caller, digest };
  }

  /** Not a promise if the key is cached. */
  authenticate(digest: string, dataVersion: number | undefined): FoundCaller {
    return authenticate(this.#store, digest, this.#seconds(), dataVersion);
  }

  /** The caller of a request, which several handlers may ask for. Not a promise if the key is cached. */
  callerOf(request: IncomingMessage, digest: string): FoundCaller {
    const known = this.#callers.get(request);
    if (known !== undefined) return known.caller;
    const caller = this.authenticate(digest, this.#store.dataVersion());
    this.rememberCaller(request, caller);
    return caller;
  }

  /** For a request that another handler continues. */
  rememberCaller(request: IncomingMessage, caller: FoundCaller): void {
    this.#callers.set(request, { caller });
  }

  /** Counts a request of this caller and sets the rate limit headers of its response. Throws if the limit is exceeded. */
  countRequest({ key_id }: Caller, method: string, response: ServerResponse): void {
    this.#uses.add(key_id, this.#seconds());
    this.#limits.count(key_id, isWrite(method), this.#clock(), response);
  }

  #seconds(): number {
    return Math.floor(this.#clock() / 1000);
  }

  /** Only unknown keys count towards the limit. Once it is reached, the response to all invalid keys is 429. */
  reject(address: string, reason: FailedKeyReason, wrong?: WrongKind): never {
    this.#metrics.countFailedKey(reason);
    const now = this.#clock();
    const isCounted = reason === 'unknown';
    const window = isCounted ? this.#failures.hit(address, now) : this.#failures.get(address, now);
    if (window.count + (isCounted ? 0 : 1) > limits.failedKeysPerMinuteMax) {
      this.#throttle('too many failed keys from this address', window, now);
    }
    throw wrong === undefined
      ? new ServiceError('unauthorized', 'the API key is missing or invalid')
      : wrongKind(wrong);
  }

  /** By key, not by address: all clients behind a proxy have the same one. */
  countRejection(digest: string): void {
    this.#rejections.hit(digest, this.#clock());
  }

  /** Throws if the upstream has rejected this key too often: further requests with it would only load the upstream. */
  limitRejections(digest: string): void {
    const now = this.#clock();
    const window = this.#rejections.get(digest, now);
    if (window.count < limits.failedKeysPerMinuteMax) return;
    this.#metrics.countFailedKey('unknown');
    this.#throttle('this key has failed too often', window, now);
  }

  #throttle(message: string, window: Window, now: number): never {
    this.#metrics.countThrottled('failed_keys');
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

/** The one place where a read-only key is kept from writing. */
function requireWriting({ read_only }: Caller): void {
  if (read_only) throw new ServiceError('forbidden', 'this key is read-only');
}

const isWrite = (method: string): boolean => method !== 'GET' && method !== 'HEAD';

/** The digest of the secret in an Authorization header; undefined if there is none. */
export function bearerDigest(header: string | undefined): string | undefined {
  const secret = header === undefined ? undefined : /^bearer +([\x21-\x7e]+) *$/i.exec(header)?.[1];
  return secret === undefined ? undefined : digestOf(secret);
}

function isSameDigest(one: string, other: string): boolean {
  return timingSafeEqual(Buffer.from(one), Buffer.from(other));
}

/** The caller of a request to a route that requires a key of this kind. */
export function requireCaller<K extends KeyKind>(request: FastifyRequest, kind: K): CallerOf<K> {
  if (request.caller?.kind !== kind) throw new Error(`the route does not require a key of kind ${kind}`);
  return request.caller as CallerOf<K>;
}
