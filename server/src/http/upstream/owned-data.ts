import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify';
import type { ChildChunkPath } from '../../contract/child-chunk.ts';
import { type KeyKind, keyKinds, keyKindTable } from '../../contract/key-kinds.ts';
import { canonicalId, isUuid } from '../../contract/primitives.ts';
import type { Caller } from '../../domain/caller.ts';
import { asError, notFound, ServiceError } from '../../domain/errors.ts';
import { locationOf } from '../../domain/knowledge/path.ts';
import { requireMatch } from '../../domain/knowledge/update-child-chunk.ts';
import type { ChangedObject, Owner } from '../../domain/owner.ts';
import type { Doubt } from '../../domain/store/doubts.ts';
import type { Store } from '../../domain/store/store.ts';
import { type Bearer, bearerDigest } from '../auth/bearer.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { ErrorSender } from '../request/errors.ts';
import { parseIfMatch } from '../request/etag.ts';
import { namesErased } from './erased.ts';
import { isEventStream, type PassedRequest } from './exchange.ts';
import { copyBody, holdBackBody, holdBackEnd, idsIn } from './hold-back.ts';
import { changedBy, isAnswer, mayHaveFailedLate, operationOf, prefix } from './operations.ts';
import type { UnstoredDoubts } from './unstored-doubts.ts';
import type { Upstream } from './upstream.ts';
import { type Asked, whoResponds } from './who-responds.ts';

/** The end of a response waits this long for its message to be in doubt, if that could not be stored. */
const doubtWriteMillisMax = 100;

type Options = {
  owner: Owner;
  store: Store;
  bearer: Bearer;
  upstream: Upstream;
  metrics: Metrics;
  errors: ErrorSender;
  unstored: UnstoredDoubts;
  /** A knowledge key of the owner, for edits in the console. */
  datasetKey: string | undefined;
  /** A request that is passed on no longer counts as being in flight. */
  leave: (response: ServerResponse) => void;
  /** Milliseconds since the epoch. */
  clock: () => number;
};

const foreignKinds: readonly KeyKind[] = keyKinds.filter((kind) => kind !== 'app' && kind !== 'knowledge');

/** A request for a page of messages with a key that is valid. */
const askedPage: Asked = { isRead: true, operation: 'stored', key: 'active', isMissing: false };

/** Requests under `/v1` when the upstream owns the data. */
export class OwnedData {
  readonly #options: Options;
  readonly #closed = new AbortController();
  /** Requests that this server attempts to respond to. If something is missing here, they are passed on after all. */
  readonly #attempts = new WeakMap<ServerResponse, Asked>();

  constructor(options: Options) {
    this.#options = options;
    options.errors.takeOver = this.#takeOver;
  }

  /** Whether everything was copied once: before, the upstream responds. */
  get isComplete(): boolean {
    return this.#options.owner.isComplete;
  }

  /** Runs before the hooks of a route. It passes the request on, or lets the route respond. */
  readonly decide: onRequestHookHandler = (request, reply, done) => {
    if (!request.routeOptions.url?.startsWith(`${prefix}/`)) return done();
    this.#decide(request, reply, done).catch(done);
  };

  async #decide(request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void): Promise<void> {
    const { bearer, store } = this.#options;
    this.#attempts.delete(reply.raw);
    const digest = bearerDigest(request.headers.authorization);
    const caller = digest === undefined ? undefined : await bearer.callerOf(request.raw, digest);
    const asked: Asked = {
      isRead: request.method === 'GET' || request.method === 'HEAD',
      operation: operationOf(request.routeOptions.url ?? ''),
      key: caller ? keyOf(caller) : await this.#keyWithout(request, digest),
      isMissing: false,
    };
    if (whoResponds(asked, this.isComplete) === 'backscroll') asked.isMissing = await this.#isInDoubt(request, caller);
    const responder = whoResponds(asked, this.isComplete);
    if (responder === 'unauthorized') return bearer.failedKeys.reject(request.ip, 'unknown');
    if (caller) request.caller = caller;
    if (responder === 'backscroll') {
      this.#attempts.set(reply.raw, asked);
      return done();
    }
    if (caller) bearer.countRequest(caller, request.method, reply.raw);
    if (responder === 'forbidden') throw new ServiceError('forbidden', 'this key is read-only');
    // Whatever the key and the method are: the owner may still have it.
    if (await namesErased(store, request.raw)) throw notFound('conversation not exists');
    await this.#requireMatch(request, caller);
    const passed = { request: request.raw, response: reply.raw, id: request.id };
    this.#pass(passed, {
      isUnknown: caller === undefined,
      ...(responder === 'upstream, then stored' && { holdBack: this.#holdBackWrite(request, caller) }),
      ...(isAnswer(request) && this.#holdBackAnswer(request, caller)),
      ...(asked.operation === 'partly constant' && caller && { orElse: () => done() }),
    });
  }

  /**
   * Before a request for a page: false if this server must not respond by itself. Ask before a data version is read: a doubt
   * that is not in the database yet does not show in the pages, and may be stored and dropped here meanwhile.
   */
  attempt(response: ServerResponse, conversation_id: string): boolean {
    if (!this.isComplete || this.#options.unstored.has(conversation_id)) return false;
    this.#attempts.set(response, askedPage);
    return true;
  }

  /** What is missing here may exist at the owner, so the request is passed on instead of the error response. */
  readonly #takeOver = (error: Error, response: ServerResponse, id: string): boolean => {
    const asked = this.#attempts.get(response);
    if (asked === undefined || !(error instanceof ServiceError && error.code === 'not_found')) return false;
    this.#attempts.delete(response);
    if (whoResponds({ ...asked, isMissing: true }, this.isComplete) === 'backscroll') return false;
    void this.#passMissing(error, response, id);
    return true;
  };

  /** Passes a read on, unless it names what was erased in Backscroll: then the error is sent. */
  async #passMissing(error: Error, response: ServerResponse, id: string): Promise<void> {
    const { store, errors } = this.#options;
    const { req: request } = response;
    try {
      if (await namesErased(store, request)) errors.write(response, error, id);
      else this.#pass({ request, response, id }, {});
    } catch (failure) {
      errors.write(response, asError(failure), id);
    }
  }

  /** Throws if records of an app may only be written at its owner. */
  async requireOwnApp(app_id: string): Promise<void> {
    if (await this.#options.owner.owns('app', app_id)) {
      throw new ServiceError('forbidden', 'Dify owns this app: its messages come from Dify');
    }
  }

  /** Sends an edit of the console to the owner of a child chunk, and stores it. False if the chunk belongs to this server. */
  async edit(path: ChildChunkPath, content: string): Promise<boolean> {
    const { owner, upstream, datasetKey } = this.#options;
    const { dataset_id, document_id, segment_id, child_chunk_id } = path;
    if (!(await owner.owns('dataset', canonicalId(dataset_id)))) return false;
    if (datasetKey === undefined) {
      throw new ServiceError('forbidden', 'Dify owns this text: edit it in Dify, or set DIFY_DATASET_KEY');
    }
    const parts = ['datasets', dataset_id, 'documents', document_id, 'segments', segment_id, 'child_chunks'];
    const url = [...parts, child_chunk_id].map((part) => `/${encodeURIComponent(part)}`).join('');
    const status = await upstream.send('PATCH', url, datasetKey, { content });
    if (status < 200 || status > 299) throw new ServiceError('bad_gateway', `Dify rejected the edit with ${status}`);
    await this.#record({
      kind: 'child_chunk',
      id: child_chunk_id,
      scope: canonicalId(dataset_id),
      conversation_id: '',
    });
    return true;
  }

  async close(): Promise<void> {
    this.#closed.abort();
    await this.#options.owner.close();
  }

  #pass(
    { request, response, id }: Pick<PassedRequest, 'request' | 'response' | 'id'>,
    more: Partial<PassedRequest>,
  ): void {
    const { upstream, bearer, leave } = this.#options;
    const digest = bearerDigest(request.headers.authorization);
    if (digest !== undefined) bearer.failedKeys.limitRejections(digest);
    const onUnauthorized = () => void (digest !== undefined && bearer.failedKeys.countRejection(digest));
    upstream.pass({ request, response, id, caller: undefined, onUnauthorized, ...more }, prefix);
    leave(response);
  }

  /** A new key may still be cached as unknown: it is not ended, and may be one that must not leave this server. */
  async #keyWithout({ headers }: FastifyRequest, digest: string | undefined): Promise<Asked['key']> {
    const { store, clock } = this.#options;
    if (foreignSecret.test(headers.authorization ?? '')) return 'foreign';
    return digest && (await store.isKeyEnded(digest, Math.floor(clock() / 1000))) ? 'ended' : 'unknown';
  }

  async #isInDoubt({ params, query, routeOptions }: FastifyRequest, caller: Caller | undefined): Promise<boolean> {
    const { store, unstored, metrics } = this.#options;
    const { dataset_id } = params as { dataset_id?: string };
    const scope = caller?.kind === 'app' ? caller.app.id : canonicalId(dataset_id ?? '');
    const exists =
      routeOptions.url === `${prefix}/messages`
        ? unstored.has(`${(query as { conversation_id?: string | string[] }).conversation_id}`)
        : scope !== '' && (unstored.has(scope) || unstored.has('') || (await store.doubts.exist(scope)));
    if (exists) metrics.countEvent('responder', 'doubt');
    return exists;
  }

  /** `If-Match` is about versions that only this server has. */
  async #requireMatch({ headers, params }: FastifyRequest, caller: Caller | undefined): Promise<void> {
    const precondition = parseIfMatch(headers['if-match']);
    const path = params as Parameters<typeof locationOf>[1] & { child_chunk_id?: string };
    if (precondition === undefined || caller?.kind !== 'knowledge' || !path.child_chunk_id) return;
    const stored = await this.#options.store.findChildChunk(locationOf(caller, path) as never);
    if ('version' in stored) requireMatch(precondition, stored.version);
  }

  #holdBackWrite(request: FastifyRequest, caller: Caller | undefined): NonNullable<PassedRequest['holdBack']> {
    return ({ statusCode = 0 }, chunks) => {
      if (statusCode < 200 || statusCode > 299) return undefined;
      return holdBackBody(chunks, (body) => this.#record(changedBy(request, scopeOf(caller), body)));
    };
  }

  #holdBackAnswer(
    { raw }: FastifyRequest,
    caller: Caller | undefined,
  ): Required<Pick<PassedRequest, 'holdBack' | 'outlivesClient'>> {
    const scope = scopeOf(caller);
    const record = async ({ message_id, conversation_id = '' }: ReturnType<typeof idsIn>) =>
      this.#record({ kind: 'message', id: message_id ?? '', scope, conversation_id });
    const sent = copyBody(raw);
    const recordFailure = async (status: number, body: Record<string, unknown>) => {
      if (scope === '' || !mayHaveFailedLate(status, body)) return;
      const { conversation_id } = idsIn(sent());
      const id = canonicalId(conversation_id ?? '');
      const kind = isUuid(id) ? 'conversation' : 'app';
      await this.#leaveInDoubt({ kind, id: isUuid(id) ? id : scope, scope, conversation_id: isUuid(id) ? id : '' });
    };
    return {
      outlivesClient: true,
      holdBack: ({ statusCode = 0, headers }, chunks) => {
        if (statusCode >= 400) return holdBackBody(chunks, (body) => recordFailure(statusCode, body));
        if (statusCode < 200 || statusCode > 299) return undefined;
        return isEventStream(headers)
          ? holdBackEnd(chunks, record)
          : holdBackBody(chunks, (body) => record(idsIn(body)));
      },
    };
  }

  /** Stores what has changed. If that takes too long, it is in doubt. */
  async #record(given: ChangedObject): Promise<void> {
    const start = performance.now();
    const { owner, metrics } = this.#options;
    const object = {
      ...given,
      id: canonicalId(given.id),
      scope: canonicalId(given.scope),
      conversation_id: canonicalId(given.conversation_id),
    };
    const isKnown = isUuid(object.id);
    if (!isUuid(object.conversation_id)) object.conversation_id = '';
    const stored = isKnown && owner.store(object).catch(() => false);
    const isStored = await Promise.race([stored, sleep(owner.heldMillisMax, false, { ref: false })]);
    if (!isStored) {
      await this.#leaveInDoubt({ ...object, ...(!isKnown && { kind: 'app' as const, id: object.scope }) });
    }
    metrics.countEvent('heldBack', '', (performance.now() - start) / 1000);
  }

  /** Until the doubt is stored, this process has it in memory. */
  async #leaveInDoubt(doubt: Omit<Doubt, 'at'>): Promise<void> {
    const { store, unstored, clock } = this.#options;
    await Promise.race([
      unstored.store({ ...doubt, at: clock() }, store, this.#closed.signal),
      sleep(doubtWriteMillisMax, undefined, { ref: false }),
    ]);
  }
}

const scopeOf = (caller: Caller | undefined): string => (caller?.kind === 'app' ? caller.app.id : '');

/** Secrets of kinds that only Backscroll has, also with another scheme. */
const foreignSecret = new RegExp(
  `(?:^|\\s)(?:${foreignKinds.map((kind) => keyKindTable[kind].prefix).join('|')})`,
  'i',
);

function keyOf({ kind, read_only }: Caller): Asked['key'] {
  if (foreignKinds.includes(kind)) return 'foreign';
  return read_only ? 'read-only' : 'active';
}
