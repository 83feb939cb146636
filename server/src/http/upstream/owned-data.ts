import type { ServerResponse } from 'node:http';
import type { FastifyRequest, onRequestAsyncHookHandler, onRequestHookHandler, RouteOptions } from 'fastify';
import type { ChildChunkPath } from '../../contract/child-chunk.ts';
import { type KeyKind, keyKinds, keyKindTable } from '../../contract/key-kinds.ts';
import { canonicalId } from '../../contract/primitives.ts';
import type { Caller } from '../../domain/caller.ts';
import { asError, notFound, ServiceError } from '../../domain/errors.ts';
import { locationOf } from '../../domain/knowledge/path.ts';
import { requireMatch } from '../../domain/knowledge/update-child-chunk.ts';
import type { LargePage } from '../../domain/messages/list-messages.ts';
import type { MessagePage, PageTag } from '../../domain/messages/page-cache.ts';
import { isInDoubt } from '../../domain/store/doubts.ts';
import { type Bearer, bearerDigest } from '../auth/bearer.ts';
import type { ErrorSender } from '../request/errors.ts';
import { parseIfMatch } from '../request/etag.ts';
import type { PageReads } from '../response/message-page.ts';
import { namesErased } from './erased.ts';
import type { PassedRequest } from './exchange.ts';
import { appWrittenBy, isAnswer, isRead, operationOf, prefix } from './operations.ts';
import { OwnedChanges, type OwnedChangesOptions } from './owned-changes.ts';
import { type Asked, whoResponds } from './who-responds.ts';

type Options = OwnedChangesOptions & {
  bearer: Bearer;
  errors: ErrorSender;
  /** A request that is passed on no longer counts as being in flight. */
  leave: (response: ServerResponse) => void;
};

const foreignKinds: readonly KeyKind[] = keyKinds.filter((kind) => kind !== 'app' && kind !== 'knowledge');

/**
 * When the upstream owns the data: decorates the routes, and the pages of the fast lane, so that the upstream responds to what this
 * server does not have in its current state, and to writes. Neither knows of it.
 */
export class OwnedData {
  readonly changes: OwnedChanges;
  readonly #options: Options;

  constructor(options: Options) {
    this.#options = options;
    this.changes = new OwnedChanges(options);
  }

  /**
   * Under `/v1`, who responds is decided before the hooks of a route, and what its handler does not find is passed on. Other routes
   * write no records of apps of the owner.
   */
  readonly decorateRoute = (route: RouteOptions): void => {
    if (!route.url.startsWith(`${prefix}/`)) return void (route.preHandler = this.#requireOwnApp);
    route.onRequest = [this.#decide, ...[route.onRequest ?? []].flat()];
    const passMissing = this.#passMissing;
    const { handler } = route;
    route.handler = async function (request, reply) {
      try {
        return await handler.call(this, request, reply);
      } catch (error) {
        if (!isRead(request) || operationOf(route.url) !== 'stored') throw error;
        await passMissing(reply.raw, asError(error), request.id);
        reply.hijack();
      }
    };
  };

  /** A page that only the upstream may serve does not exist here, and the request for it is passed on. */
  decoratePages(reads: PageReads): PageReads {
    const { owner, unstored, errors, metrics } = this.#options;
    return {
      // Before it is read: a doubt that is not in the database yet does not show in the pages, and may be stored meanwhile.
      dataVersion: (conversation_id) => {
        if (!owner.isComplete || unstored.has(conversation_id)) throw outdated();
        return reads.dataVersion(conversation_id);
      },
      current: (key, dataVersion) => {
        const page = reads.current(key, dataVersion);
        return page && isServed(page) ? page : undefined;
      },
      list: async (...parameters) => {
        const page = await reads.list(...parameters);
        if (isInDoubt(page.tag)) metrics.countEvent('responder', 'doubt');
        if (page.kind === 'large' ? await isServedLarge(page) : isServed(page)) return page;
        throw outdated();
      },
      sendError: (response, error, id) =>
        void this.#passMissing(response, error, id).catch((other) => errors.write(response, other, id)),
    };
  }

  readonly #requireOwnApp: onRequestAsyncHookHandler = async (request) => {
    const app_id = appWrittenBy(request);
    if (app_id === undefined || !(await this.#options.owner.owns('app', canonicalId(app_id)))) return;
    throw new ServiceError('forbidden', 'Dify owns this app: its messages come from Dify');
  };

  readonly #decide: onRequestHookHandler = (request, reply, done) => {
    this.#respond(request, reply.raw, done).catch(done);
  };

  /** Passes a request on, or calls `serve`. */
  async #respond(request: FastifyRequest, response: ServerResponse, serve: () => void): Promise<void> {
    const { owner, bearer, store } = this.#options;
    const digest = bearerDigest(request.headers.authorization);
    const caller = digest === undefined ? undefined : await bearer.callerOf(request.raw, digest);
    const asked: Asked = {
      isRead: isRead(request),
      operation: operationOf(request.routeOptions.url ?? ''),
      key: caller ? keyOf(caller) : await this.#keyWithout(request, digest),
    };
    let responder = whoResponds(asked, owner.isComplete);
    if (responder === 'backscroll' && (await this.#isInDoubt(request, caller))) responder = 'upstream';
    if (responder === 'unauthorized') return bearer.failedKeys.reject(request.ip, 'unknown');
    if (caller) request.caller = caller;
    if (responder === 'backscroll') return serve();
    if (caller) bearer.countRequest(caller, request.method, response);
    if (responder === 'forbidden') throw new ServiceError('forbidden', 'this key is read-only');
    // Whatever the key and the method are: the owner may still have it.
    if (await namesErased(store, request.raw)) throw notFound('conversation not exists');
    await this.#requireMatch(request, caller);
    this.#pass(request.raw, response, request.id, {
      isUnknown: caller === undefined,
      ...(responder === 'upstream, then stored' && { holdBack: this.changes.holdBackWrite(request, caller) }),
      ...(isAnswer(request) && { holdBack: this.changes.holdBackAnswer(request, caller), outlivesClient: true }),
      ...(asked.operation === 'partly constant' && caller && { orElse: serve }),
    });
  }

  /** Passes a read on that has failed with this error. Throws the error unless something is missing, or was erased in Backscroll. */
  readonly #passMissing = async (response: ServerResponse, error: Error, id: string): Promise<void> => {
    const { req: request } = response;
    const isMissing = error instanceof ServiceError && error.code === 'not_found';
    if (!isMissing || (await namesErased(this.#options.store, request))) throw error;
    this.#pass(request, response, id, {});
  };

  #pass(
    request: PassedRequest['request'],
    response: ServerResponse,
    id: string,
    more: Omit<Partial<PassedRequest>, 'caller'>,
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
    const path = params as Partial<ChildChunkPath>;
    if (precondition === undefined || caller?.kind !== 'knowledge' || !path.child_chunk_id) return;
    const storedChunk = await this.#options.store.findChildChunk(locationOf(caller, path as ChildChunkPath));
    if ('version' in storedChunk) requireMatch(precondition, storedChunk.version);
  }
}

const outdated = () => notFound('the conversation is not up to date here');

/** Links to uploaded files can only be signed by their owner. */
const unsignedLink = '"url":null';

function isServed(page: MessagePage | PageTag): boolean {
  if (isInDoubt(page.tag)) return false;
  if (page.kind === 'tag') return true;
  const { docs } = page;
  return !Buffer.from(docs.buffer, docs.byteOffset, docs.byteLength).includes(unsignedLink);
}

/** A large page that is not served is closed. */
async function isServedLarge(page: LargePage): Promise<boolean> {
  let isServed = false;
  try {
    isServed = !isInDoubt(page.tag) && !(await page.includes(unsignedLink));
  } finally {
    if (!isServed) page.close();
  }
  return isServed;
}

/** Secrets of kinds that only Backscroll has, also with another scheme. */
const foreignSecret = new RegExp(
  `(?:^|\\s)(?:${foreignKinds.map((kind) => keyKindTable[kind].prefix).join('|')})`,
  'i',
);

function keyOf({ kind, read_only }: Caller): Asked['key'] {
  if (foreignKinds.includes(kind)) return 'foreign';
  return read_only ? 'read-only' : 'active';
}
