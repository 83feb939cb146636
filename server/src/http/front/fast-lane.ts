import { channel } from 'node:diagnostics_channel';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream';
import { parse } from 'fast-querystring';
import type { Static } from 'typebox';
import { MessageQuery, type PageOrder } from '../../contract/message.ts';
import type { Caller, CallerOf } from '../../domain/caller.ts';
import { asError } from '../../domain/errors.ts';
import { isChatApp, type Page, type PageRequest, pageRequest } from '../../domain/messages/list-messages.ts';
import { free } from '../../domain/messages/page-cache.ts';
import { RecentKeys } from '../../domain/recent-keys.ts';
import { RecentMap } from '../../domain/recent-map.ts';
import { textKey } from '../../domain/text-key.ts';
import { bearerDigest } from '../auth/bearer.ts';
import { type RequestSummary, safeRequestId } from '../observe/observe.ts';
import { matchesTag, parseIfNoneMatch } from '../request/etag.ts';
import { validatorCompiler } from '../request/query.ts';
import { readLargePage } from '../response/large-page.ts';
import { messagesPath, onDisconnect, pageHeaders, pageLink } from '../response/message-page.ts';
import type { Dependencies, Handler } from '../route-types.ts';
import type { Connections } from './connections.ts';
import { readLaneHeaders } from './lane-headers.ts';

/** Publishes each request that the fast lane responds to. Tests use it to check which path a request took. */
export const fastLaneChannel = channel('backscroll:fast-lane');

/** A request for a page in the form that the fast lane can handle. */
type PlainRequest = {
  request: IncomingMessage;
  response: WatchedResponse;
  query: ParsedQuery;
  digest: string;
  ifNoneMatch: string | undefined;
  /** The store's data version, read before any other data. */
  dataVersion: number | undefined;
  summary: RequestSummary;
};

/** A parsed query string, its page request for the app that sent it last, and the link of the page that was sent last. */
type ParsedQuery = {
  parameters: Static<typeof MessageQuery>;
  app_id: string | undefined;
  page: PageRequest | undefined;
  next: string | undefined;
  link: string;
};

const summary = Symbol('what is logged when the response has ended');
const ownDocs = Symbol('the content of a page that no other request uses');
type WatchedResponse = ServerResponse & { [summary]?: RequestSummary | undefined; [ownDocs]?: Uint8Array };

const prefix = `${messagesPath}?`;
/** Characters that end a query string, or that it may not contain. */
const unusual = /[#;\x00-\x20\x7f-\uffff]/;
/** Number of parsed queries in the cache. A query is cached when its URL comes a second time. */
const queriesMin = 2_000;
/** Longer URLs are not cached: clients, even without a key, could fill the memory with them. */
const cachedUrlUnitsMax = 500;

/**
 * Responds to plain requests for pages without the framework, which saves more than half of their cost. It uses the same
 * functions as the route and sends the same responses. A request with anything unusual, including an invalid key, is
 * passed on to the framework before anything is sent.
 */
export class FastLane {
  readonly #framework: Handler;
  readonly #connections: Connections;
  readonly #dependencies: Dependencies;
  readonly #urls = new RecentKeys(queriesMin);
  readonly #queries = new RecentMap<ParsedQuery>(queriesMin);
  readonly #validate = validatorCompiler({
    schema: MessageQuery,
    httpPart: 'querystring',
    method: 'GET',
    url: messagesPath,
  }) as (query: unknown) => { value?: Static<typeof MessageQuery> };
  /** One listener for all responses, so that no function is created per response. */
  readonly #onClose: (this: WatchedResponse) => void;

  constructor(framework: Handler, connections: Connections, dependencies: Dependencies) {
    this.#framework = framework;
    this.#connections = connections;
    this.#dependencies = dependencies;
    const { observer } = dependencies;
    this.#onClose = function () {
      if (this[summary] !== undefined) observer.report(this[summary], this);
      if (this[ownDocs] !== undefined && this.writableFinished) free(this[ownDocs]);
    };
  }

  readonly handle: Handler = (request, response) => {
    // During shutdown, a hook of the framework sets `Connection: close`.
    const plain = this.#connections.isClosing ? undefined : this.#read(request, response);
    if (plain === undefined) return this.#framework(request, response);
    plain.response[summary] = plain.summary;
    response.on('close', this.#onClose);
    this.#authenticate(plain);
  };

  #authenticate(plain: PlainRequest): void {
    try {
      const caller = this.#dependencies.bearer.authenticate(plain.digest, plain.dataVersion);
      if (!(caller instanceof Promise)) return this.#respond(plain, caller);
      caller
        .then((foundCaller) => this.#respond(plain, foundCaller))
        .catch((error) => this.#sendError(plain, asError(error)));
    } catch (error) {
      this.#sendError(plain, asError(error));
    }
  }

  #respond(plain: PlainRequest, caller: Caller | undefined): void {
    const { pageReads, bearer, page_order } = this.#dependencies;
    if (caller?.kind !== 'app' || !isChatApp(caller.app)) return this.#passOn(plain, caller);
    plain.summary.key_id = caller.key_id;
    bearer.countRequest(caller, 'GET', plain.response);
    const requestedPage = pageOf(plain.query, caller, page_order);
    const page = pageReads.current(requestedPage.key, plain.dataVersion);
    if (page === undefined || (page.kind === 'tag' && !matchesTag(plain.ifNoneMatch, page.tag))) {
      void this.#readPage(plain, requestedPage);
    } else {
      sendPage(plain, page);
    }
  }

  async #readPage(plain: PlainRequest, requestedPage: PageRequest): Promise<void> {
    const { pageReads } = this.#dependencies;
    const { ifNoneMatch, dataVersion } = plain;
    try {
      const clientTags = parseIfNoneMatch(ifNoneMatch);
      const disconnected = () => onDisconnect(plain.response);
      sendPage(plain, await pageReads.list(requestedPage, clientTags, dataVersion, disconnected));
    } catch (error) {
      this.#sendError(plain, asError(error));
    }
  }

  /** Errors of the store and the domain are final: the framework would only get them again. */
  #sendError({ request, response, summary }: PlainRequest, error: Error): void {
    fastLaneChannel.publish(request);
    if (response.headersSent) response.destroy(error);
    else this.#dependencies.pageReads.sendError(response, error, summary.id);
  }

  /** Passes a request to the framework, unless the client has disconnected. */
  #passOn({ request, response }: PlainRequest, caller: Caller | undefined): void {
    if (response.closed) return;
    this.#dependencies.bearer.rememberCaller(request, caller);
    response[summary] = undefined;
    this.#framework(request, response);
  }

  /** Undefined for anything but a plain and valid request for a page. */
  #read(request: IncomingMessage, response: ServerResponse): PlainRequest | undefined {
    try {
      const query = this.#parseQuery(request);
      if (query === undefined) return undefined;
      const headers = readLaneHeaders(request.rawHeaders);
      if (headers === undefined) return undefined;
      const { authorization, traceparent, 'x-request-id': givenId, 'if-none-match': ifNoneMatch } = headers;
      const digest = bearerDigest(authorization);
      if (digest === undefined) return undefined;
      const dataVersion = this.#dependencies.pageReads.dataVersion(query.parameters.conversation_id);
      const id = safeRequestId(givenId);
      const summary = { id, method: 'GET', route: messagesPath, key_id: null, start: performance.now(), traceparent };
      return { request, response, query, digest, ifNoneMatch, dataVersion, summary };
    } catch {
      return undefined;
    }
  }

  #parseQuery({ method, url = '', httpVersionMinor }: IncomingMessage): ParsedQuery | undefined {
    if (method !== 'GET' || httpVersionMinor !== 1 || !url.startsWith(prefix)) return undefined;
    const key = url.length <= cachedUrlUnitsMax ? textKey(url) : undefined;
    const cached = key && this.#queries.get(key);
    if (cached !== undefined) return cached;
    const text = url.slice(prefix.length);
    const parameters = unusual.test(text) ? undefined : this.#validate(parse(text)).value;
    if (parameters === undefined) return undefined;
    const query = { parameters, app_id: undefined, page: undefined, next: undefined, link: '' };
    if (key !== undefined && this.#urls.add(key)) this.#queries.set(key, query);
    return query;
  }
}

function pageOf(query: ParsedQuery, { app }: CallerOf<'app'>, order: PageOrder): PageRequest {
  if (query.page === undefined || query.app_id !== app.id) {
    query.app_id = app.id;
    query.page = pageRequest(app.id, query.parameters, order);
  }
  return query.page;
}

/** The link of a repeated request is not built again, unless the page before has changed. */
function linkOf({ query, request }: PlainRequest, next: string): string {
  if (query.next !== next) {
    query.next = next;
    query.link = pageLink(messagesPath, request.url ?? '', next);
  }
  return query.link;
}

function sendPage(plain: PlainRequest, foundPage: Page): void {
  const { request, response, ifNoneMatch, summary } = plain;
  fastLaneChannel.publish(request);
  const page: Page = matchesTag(ifNoneMatch, foundPage.tag) ? { kind: 'tag', tag: foundPage.tag } : foundPage;
  const headers = pageHeaders(page, (next) => linkOf(plain, next));
  headers.push('x-request-id', summary.id);
  if (page.kind === 'tag') return void response.writeHead(304, headers).end();
  if (page.kind === 'large') {
    response.writeHead(200, [...headers, 'content-length', String(page.bytes)]);
    pipeline(readLargePage(page), response, () => undefined);
    return;
  }
  headers.push('content-length', String(page.head.length + page.docs.length + page.tail.length));
  response.writeHead(200, headers);
  if (page.isCached) return void response.end(page.docs);
  response[ownDocs] = page.docs;
  response.write(page.head, 'latin1');
  response.write(page.docs);
  response.end(page.tail, 'latin1');
}
