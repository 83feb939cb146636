import { timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify';
import type { KeyKind } from '../../contract/key-kinds.ts';
import { allows, type Role, requiredRole } from '../../contract/people/roles.ts';
import { personPrefix } from '../../domain/author.ts';
import type { Caller, CallerOf } from '../../domain/caller.ts';
import { asError, ServiceError } from '../../domain/errors.ts';
import { authenticate } from '../../domain/keys/authenticate.ts';
import type { KeyUses } from '../../domain/keys/key-uses.ts';
import { digestOf } from '../../domain/secret.ts';
import type { StoredSession } from '../../domain/store/keys.ts';
import type { Store } from '../../domain/store/store.ts';
import type { FailedKeys } from './failed-keys.ts';
import type { SignInOptions } from './oidc.ts';
import type { RateLimits } from './rate-limits.ts';
import { sessionDigest } from './session-cookie.ts';

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller | null;
  }
  interface FastifyContextConfig {
    /** A request reads, unless its body says that it writes: then its route calls `countWrite`. */
    bodyDecides?: boolean;
    /** The roles that tools need are in the table of the tools. */
    callsTools?: boolean;
  }
}

export type BearerOptions = {
  store: Store;
  /** Milliseconds since the epoch. */
  clock: () => number;
  limits: RateLimits;
  uses: KeyUses;
  failedKeys: FailedKeys;
} & SignInOptions;

type FoundCaller = Caller | undefined | Promise<Caller | undefined>;

/** Authenticates requests by API key or console session. The response is the same for all unknown, expired and revoked keys. */
export class Bearer {
  readonly #options: BearerOptions;
  readonly failedKeys: FailedKeys;
  readonly #callers = new WeakMap<IncomingMessage, { caller: FoundCaller }>();

  constructor(options: BearerOptions) {
    this.#options = options;
    this.failedKeys = options.failedKeys;
  }

  /** A hook that requires a key of one of these kinds, or the token. It runs before all other checks of a request. */
  requireKey(kinds: readonly KeyKind[], token?: string): onRequestHookHandler {
    const tokenDigest = token === undefined ? undefined : digestOf(token);
    const allow = (request: FastifyRequest, reply: FastifyReply, caller: Caller | undefined): void => {
      if (caller === undefined) return this.failedKeys.reject(request.ip, 'unknown');
      if (!kinds.includes(caller.kind)) return this.failedKeys.reject(request.ip, 'wrong_kind', { caller, kinds });
      this.#admit(request, reply, caller);
    };
    return (request, reply, done) => {
      try {
        const digest = bearerDigest(request.headers.authorization);
        if (digest === undefined) return this.failedKeys.reject(request.ip, 'missing');
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
  requireAdmin(kinds: readonly KeyKind[]): onRequestHookHandler {
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
    if (digest === undefined) return this.failedKeys.reject(request.ip, 'missing');
    const session = await this.#findSession(digest);
    if (session === undefined) return this.failedKeys.reject(request.ip, 'unknown');
    this.#admit(request, reply, sessionCaller(session));
    return session;
  }

  /** Settings that have changed end sessions, too. */
  async #findSession(digest: string): Promise<StoredSession | undefined> {
    const { store, sign_in, oidc } = this.#options;
    const session = await store.findSession(digest, this.#seconds());
    if (session === undefined) return undefined;
    const isAllowed = session.person_id === null ? sign_in !== 'oidc' : isSameIssuer(session.issuer, oidc?.issuer);
    return isAllowed ? session : undefined;
  }

  /** The one place where a caller is kept from what its role does not allow. */
  #admit(request: FastifyRequest, reply: FastifyReply, caller: Caller): void {
    request.caller = caller;
    const method = request.routeOptions.config.bodyDecides ? 'GET' : request.method;
    this.countRequest(caller, method, reply.raw);
    const role = missingRole(request, caller);
    if (role !== undefined) throw new ServiceError('forbidden', `this operation needs the role ${role}`);
    if (isWrite(method)) requireWriting(caller);
  }

  /** Counts a write that only the body of a request names. Throws if the key is read-only, or the limit is exceeded. */
  countWrite(caller: Caller, response: ServerResponse): void {
    requireWriting(caller);
    this.#options.limits.countWrite(caller.key_id, this.#options.clock(), response);
  }

  /** The caller of a long request as it is now: what its key allows may have changed. Undefined if it is no longer valid. */
  async findCallerAgain(request: FastifyRequest): Promise<Caller | undefined> {
    const current = await this.#findCaller(request);
    const isSame = current !== undefined && current.key_id === request.caller?.key_id;
    return isSame && missingRole(request, current) === undefined ? current : undefined;
  }

  async #findCaller({ headers }: FastifyRequest): Promise<Caller | undefined> {
    const digest = bearerDigest(headers.authorization);
    if (digest !== undefined) return this.authenticate(digest, this.#options.store.dataVersion());
    const digestOfSession = sessionDigest(headers);
    const session = digestOfSession && (await this.#findSession(digestOfSession));
    return session ? sessionCaller(session) : undefined;
  }

  /** Authenticates the admin key in the body of a request. */
  async requireAdminSecret(
    request: FastifyRequest,
    secret: string,
  ): Promise<{ caller: CallerOf<'admin'>; digest: string }> {
    const digest = digestOf(secret);
    const caller = await this.authenticate(digest, this.#options.store.dataVersion());
    if (caller === undefined) return this.failedKeys.reject(request.ip, 'unknown');
    if (caller.kind !== 'admin') return this.failedKeys.reject(request.ip, 'wrong_kind', { caller, kinds: ['admin'] });
    request.caller = caller;
    this.#options.uses.add(caller.key_id, this.#seconds());
    return { caller, digest };
  }

  /** Not a promise if the key is cached. */
  authenticate(digest: string, dataVersion: number | undefined): FoundCaller {
    return authenticate(this.#options.store, digest, this.#seconds(), dataVersion);
  }

  /** The caller of a request, which several handlers may ask for. Not a promise if the key is cached. */
  callerOf(request: IncomingMessage, digest: string): FoundCaller {
    const known = this.#callers.get(request);
    if (known !== undefined) return known.caller;
    const caller = this.authenticate(digest, this.#options.store.dataVersion());
    this.rememberCaller(request, caller);
    return caller;
  }

  /** For a request that another handler continues. */
  rememberCaller(request: IncomingMessage, caller: FoundCaller): void {
    this.#callers.set(request, { caller });
  }

  /** Counts a request of this caller and sets the rate limit headers of its response. Throws if the limit is exceeded. */
  countRequest({ key_id }: Caller, method: string, response: ServerResponse): void {
    this.#options.uses.add(key_id, this.#seconds());
    this.#options.limits.count(key_id, isWrite(method), this.#options.clock(), response);
  }

  #seconds(): number {
    return Math.floor(this.#options.clock() / 1000);
  }
}

function sessionCaller({ key_id, person_id, read_only, role }: StoredSession): CallerOf<'admin'> {
  return { kind: 'admin', key_id: key_id ?? `${personPrefix}${person_id}`, read_only, role };
}

/** The setting may have a slash at its end or not. */
const isSameIssuer = (one: string, other: string | undefined): boolean =>
  other !== undefined && one.replace(/\/$/, '') === other.replace(/\/$/, '');

/** The role that an operation of the console needs, if the caller does not have it. */
function missingRole({ routeOptions: { config, schema } }: FastifyRequest, caller: Caller): Role | undefined {
  if (caller.kind !== 'admin' || config.callsTools) return undefined;
  const operation = schema?.operationId ?? '';
  return allows(caller.role, operation) ? undefined : requiredRole(operation);
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
