import type { ServerResponse } from 'node:http';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import Fastify, { type FastifyBaseLogger, type FastifyReply, type FastifyRequest, LogController } from 'fastify';
import { limits } from '../contract/limits.ts';
import type { PageOrder } from '../contract/message.ts';
import { loadCompiler } from '../contract/validator.ts';
import { ChangeWatch } from '../domain/changes/change-watch.ts';
import { notFound, overloaded, ServiceError } from '../domain/errors.ts';
import type { KeyUses } from '../domain/keys/key-uses.ts';
import { pageReads } from '../domain/messages/list-messages.ts';
import { PageCache } from '../domain/messages/page-cache.ts';
import type { Owner } from '../domain/owner.ts';
import type { LineValidator } from '../domain/records/prepare-lines.ts';
import { whyOff } from '../domain/search/search-indexer.ts';
import type { Store } from '../domain/store/store.ts';
import { adminActivityRoutes } from './admin/activity.ts';
import { adminChangeRoutes } from './admin/changes.ts';
import { adminConversationRoutes } from './admin/conversations.ts';
import { adminErasureRoutes } from './admin/erasure.ts';
import { adminKeyRoutes } from './admin/keys.ts';
import { adminKnowledgeRoutes } from './admin/knowledge.ts';
import { adminOverviewRoutes } from './admin/overview.ts';
import { adminPeopleRoutes } from './admin/people.ts';
import { adminSearchRoutes } from './admin/search.ts';
import { sessionRoutes } from './admin/session.ts';
import { adminTrafficRoutes } from './admin/traffic.ts';
import { adminUserRoutes } from './admin/users.ts';
import { adminWorkspaceRoutes } from './admin/workspaces.ts';
import { Bearer } from './auth/bearer.ts';
import { FailedKeys } from './auth/failed-keys.ts';
import { RateLimits } from './auth/rate-limits.ts';
import { Connections } from './front/connections.ts';
import { isRejected, leaveGate } from './front/gate.ts';
import { rejectInvalidHttp } from './front/socket-responses.ts';
import { mcpRoutes } from './mcp/routes.ts';
import { Metrics } from './observe/metrics.ts';
import { type Lines, Observer, requestIdOf, unmatchedRoute } from './observe/observe.ts';
import { Outages } from './observe/outages.ts';
import { openaiRoutes } from './openai/routes.ts';
import { documentRoutes } from './openapi/openapi.ts';
import { pageRoutes } from './pages/pages.ts';
import {
  hasUnknownCoding,
  requireUnambiguousBody,
  requireUnambiguousSender,
  routedUrl,
} from './request/before-routing.ts';
import { dropRest, jsonReader } from './request/body.ts';
import { checkFirst } from './request/check-first.ts';
import { ErrorSender } from './request/errors.ts';
import { validatorCompiler } from './request/query.ts';
import { RouteTable } from './request/route-table.ts';
import type { App, Dependencies, Routes } from './route-types.ts';
import { createServer } from './server.ts';
import { OwnedData } from './upstream/owned-data.ts';
import { ownedPages } from './upstream/owned-pages.ts';
import { UnstoredDoubts } from './upstream/unstored-doubts.ts';
import { Upstream } from './upstream/upstream.ts';
import { appInfoRoutes } from './v1/app-info.ts';
import { chatMessageRoutes } from './v1/chat-messages.ts';
import { childChunkRoutes } from './v1/child-chunks.ts';
import { conversationRoutes } from './v1/conversations.ts';
import { datasetRoutes } from './v1/datasets.ts';
import { feedbackRoutes } from './v1/feedbacks.ts';
import { healthRoutes } from './v1/health.ts';
import { messageSearchRoutes } from './v1/message-search.ts';
import { messageRoutes } from './v1/messages.ts';
import { modelRoutes } from './v1/models.ts';
import { upstreamRoutes } from './v1/passed-on.ts';
import { recordRoutes } from './v1/records.ts';
import { contextOf, type SharedState, type WorkerContext } from './workers/context.ts';
import { SharedSum } from './workers/shared-sum.ts';
import { SlowReaders } from './workers/slow-readers.ts';

export type AppOptions = {
  store: Store;
  logger: FastifyBaseLogger;
  /** The destination of the logger. */
  lines: Lines;
  /** Milliseconds since the epoch. */
  clock: () => number;
  /** Milliseconds that only go forward, by which the gate notices overload. */
  now?: () => number;
  shared: SharedState;
  /** The number of this worker: 0, 1, … */
  worker: number;
  /** Collects when keys were last used. */
  uses: KeyUses;
  /** Validates the lines of an import. */
  validateLines: LineValidator;
  /** MiB of pages that all workers cache. */
  page_cache: number;
  page_order: PageOrder;
  rate_limit: number;
  in_flight_max: number;
  write_limit: number;
  metrics_token: string | undefined;
  public_url: string | undefined;
  upstream_url: string | undefined;
  dify_dataset_key: string | undefined;
  /** The system behind the upstream, if it owns the data. */
  owner?: Owner | undefined;
  changes: boolean;
  search: boolean;
};

/** In the order of the OpenAPI document. */
const routes: readonly Routes[] = [
  documentRoutes,
  messageRoutes,
  chatMessageRoutes,
  conversationRoutes,
  appInfoRoutes,
  feedbackRoutes,
  messageSearchRoutes,
  datasetRoutes,
  childChunkRoutes,
  modelRoutes,
  recordRoutes,
  openaiRoutes,
  adminWorkspaceRoutes,
  adminKnowledgeRoutes,
  adminActivityRoutes,
  adminKeyRoutes,
  adminPeopleRoutes,
  adminTrafficRoutes,
  sessionRoutes,
  adminConversationRoutes,
  adminErasureRoutes,
  adminOverviewRoutes,
  adminUserRoutes,
  adminChangeRoutes,
  adminSearchRoutes,
  mcpRoutes,
  healthRoutes,
  pageRoutes,
  upstreamRoutes,
];

const buildValidator = () => validatorCompiler as never;
const buildSerializer = () => () => JSON.stringify;

/** The HTTP API: Fastify on the server of `server.ts`, with its hooks and routes. */
export async function buildApp(options: AppOptions): Promise<App> {
  const context = contextOf(options.shared, options.worker);
  const { workers } = options.shared;
  const dependencies = dependenciesOf(options, context);
  const { observer, errors, owned } = dependencies;
  const connections = new Connections(context);
  const observe = (request: FastifyRequest, reply: FastifyReply) => {
    const { id, method } = request;
    const start = performance.now();
    const route = request.routeOptions.url ?? unmatchedRoute;
    reply.raw.on('close', () => {
      const { caller, tool, headers } = request;
      const traceparent = headers.traceparent?.toString();
      const isConsole = headers.authorization === undefined;
      const of = { id, method, route, key_id: caller?.key_id ?? null, start, tool, traceparent, isConsole };
      observer.report(of, reply.raw);
    });
  };
  const app: App = Fastify({
    serverFactory: (framework) => createServer(framework, connections, dependencies),
    // Fastify adds this listener to the server itself.
    clientErrorHandler: rejectInvalidHttp,
    loggerInstance: options.logger,
    childLoggerFactory: (parent) => parent,
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: requestIdOf,
    rewriteUrl: routedUrl,
    return503OnClosing: false,
    // Passed to the constructor, so that Fastify does not load its own compilers.
    schemaController: { compilersFactory: { buildValidator, buildSerializer } },
    routerOptions: { maxParamLength: limits.headerBytesMax },
    frameworkErrors: (error, request, reply) => {
      observe(request, reply);
      errors.send(error, request, reply);
    },
  }).withTypeProvider<TypeBoxTypeProvider>();

  app.setErrorHandler(errors.send);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', jsonReader(options.in_flight_max / workers));
  // The body of a DELETE is ignored, like that of a GET, unless a route reads it with `optionalBody`.
  app.addHttpMethod('DELETE', { hasBody: false, overrideExisting: true });
  app.decorateRequest('caller', null);
  app.decorateRequest('tool', null);

  const table = new RouteTable();
  app.addHook('onRoute', (route) => void (route.url.endsWith('*') || table.add(route)));
  const checkRequest = checkFirst((request, reply) => {
    observe(request, reply);
    reply.header('x-request-id', request.id);
    if (isRejected(request.raw)) throw overloaded;
    // The end of such a request's body is not known, so the connection is closed.
    if (hasUnknownCoding(request.raw)) reply.raw.shouldKeepAlive = false;
    requireUnambiguousSender(request.raw);
    // Node ignores everything after such a request, so the response has `Connection: close`.
    if (request.headers.upgrade !== undefined) reply.raw.shouldKeepAlive = false;
    if (request.is404 || hasEmptyParameter(request.params)) rejectRoute(table, request, reply);
  });
  app.addHook('onRequest', checkRequest);
  if (owned !== undefined) app.addHook('onRequest', owned.decide);
  app.addHook('preParsing', async (request) => requireUnambiguousBody(request.raw));
  app.addHook('onSend', dropRest);
  app.addHook('onSend', connections.announceEnd);
  // Loaded after the service is ready, so that neither the start nor the first request has to wait for it.
  app.addHook('onListen', async () => void setTimeout(loadCompiler, limits.loadCompilerMillis).unref());
  // First, since connections are closed when their requests have ended.
  app.addHook('preClose', async () => dependencies.changeWatch.close());
  app.addHook('preClose', () => connections.close());
  app.addHook('onClose', async () => context.peers.close());
  // Never called: `checkRequest` rejects a request without a route before its body is read.
  app.setNotFoundHandler((request, reply) => rejectRoute(table, request, reply));

  for (const add of routes) add(app, dependencies);
  return app;
}

function dependenciesOf(options: AppOptions, context: WorkerContext): Dependencies {
  const { store, clock, logger, lines, uses, validateLines, shared, worker, ...settings } = options;
  const { page_order, metrics_token, public_url, in_flight_max, now = performance.now.bind(performance) } = settings;
  const inFlight = new SharedSum(shared.inFlight, worker);
  const waiting = new SharedSum(shared.waiting, worker);
  const metrics = new Metrics(
    clock,
    () => inFlight.total,
    () => waiting.total,
    context,
    () => store.monitoring.connections(),
  );
  const rateLimits = new RateLimits(metrics, settings, shared);
  const { workers } = shared;
  const errors = new ErrorSender(logger, new Outages(shared.outages));
  const passed = new SharedSum(shared.passedOn, worker);
  const failedKeys = new FailedKeys(clock, metrics, shared);
  const bearer = new Bearer({ store, clock, limits: rateLimits, uses, failedKeys });
  const { upstream_url: url, owner, dify_dataset_key: datasetKey } = settings;
  const upstream = url === undefined ? undefined : new Upstream({ url, errors, metrics, passed, workers });
  if (upstream !== undefined) metrics.addUpstream();
  const leave = (response: ServerResponse) => leaveGate(response, inFlight);
  const unstored = new UnstoredDoubts(shared.unstoredDoubts, worker);
  const owned =
    upstream &&
    owner &&
    new OwnedData({ owner, store, bearer, upstream, metrics, errors, unstored, leave, clock, datasetKey });
  const pages = new PageCache((settings.page_cache * 2 ** 20) / shared.workers);
  const reads = pageReads(store, pages);
  return {
    store,
    pages,
    pageReads: owned === undefined ? reads : ownedPages(reads, metrics),
    bearer,
    metrics,
    observer: new Observer(metrics, uses, logger, lines),
    logger,
    errors,
    clock,
    validateLines,
    page_order,
    metrics_token,
    public_url,
    in_flight_max,
    inFlight,
    changeWatch: new ChangeWatch(store),
    search: whyOff(settings),
    upstream,
    owned,
    waiting,
    slowReaders: new SlowReaders(limits.unreadBytesMax, context),
    worker: context,
    now,
  };
}

/** 404, or 405 if the path allows other methods. Checked before everything else, even before the key. */
function rejectRoute(table: RouteTable, request: FastifyRequest, reply: FastifyReply): never {
  const allow = table.allowedMethods(request.url);
  if (allow === undefined) throw notFound('no such route');
  reply.header('allow', allow);
  throw new ServiceError('method_not_allowed', `this path allows ${allow}`);
}

/** The router accepts an empty parameter, as in `//`. Here such a path does not exist. `*` is the rest of any path. */
function hasEmptyParameter(params: unknown): boolean {
  for (const name in params as Record<string, string>) {
    if (name !== '*' && (params as Record<string, string>)[name] === '') return true;
  }
  return false;
}
