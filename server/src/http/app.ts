import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import Fastify, { type FastifyBaseLogger, type FastifyReply, type FastifyRequest, LogController } from 'fastify';
import { limits } from '../contract/limits.ts';
import type { PageOrder } from '../contract/message.ts';
import { loadCompiler } from '../contract/validator.ts';
import { notFound, overloaded, ServiceError } from '../domain/errors.ts';
import type { LastUsed } from '../domain/last-used.ts';
import { PageCache } from '../domain/page-cache.ts';
import type { Store } from '../domain/store.ts';
import { adminConversationRoutes } from './admin/conversations.ts';
import { adminKeyRoutes } from './admin/keys.ts';
import { adminKnowledgeRoutes } from './admin/knowledge.ts';
import { sessionRoutes } from './admin/session.ts';
import { adminTrafficRoutes } from './admin/traffic.ts';
import { adminUsageRoutes } from './admin/usage.ts';
import { adminListRoutes } from './admin/workspaces.ts';
import { Bearer, checkFirst } from './auth/bearer.ts';
import { RateLimits } from './auth/rate-limits.ts';
import { Connections } from './front/connections.ts';
import { FastLane } from './front/fast-lane.ts';
import { Gate } from './front/gate.ts';
import { Metrics } from './observe/metrics.ts';
import { type Lines, Observer, requestIdOf } from './observe/observe.ts';
import { documentRoute } from './openapi/openapi.ts';
import { childChunkRoutes } from './operations/child-chunks.ts';
import { healthRoutes } from './operations/health.ts';
import { messageRoutes } from './operations/messages.ts';
import { modelRoutes } from './operations/models.ts';
import { recordRoutes } from './operations/records.ts';
import { pageRoutes } from './pages/pages.ts';
import { dropRest, jsonReader } from './request/body.ts';
import { answerClientError, answerInTurn, sendError, writeError } from './request/errors.ts';
import { validatorCompiler } from './request/query.ts';
import { RouteTable } from './request/route-table.ts';
import type { App, Parts } from './route-types.ts';

export type AppOptions = {
  store: Store;
  logger: FastifyBaseLogger;
  /** Where the logger writes to. */
  lines: Lines;
  /** Milliseconds since the epoch. */
  clock: () => number;
  /** Where the use of keys is remembered. */
  uses: LastUsed;
  page_order: PageOrder;
  rate_limit: number;
  in_flight_max: number;
  write_limit: number;
  metrics_token: string | undefined;
};

const buildValidator = () => validatorCompiler as never;
const buildSerializer = () => () => JSON.stringify;

/** The HTTP side, whole: every route, and what holds for all of them. */
export async function buildApp(options: AppOptions): Promise<App> {
  const { store, clock, logger } = options;
  const metrics = new Metrics(clock);
  const observer = new Observer(metrics, logger, options.lines);
  const observe = (request: FastifyRequest, reply: FastifyReply) => {
    const { id, method } = request;
    const start = performance.now();
    const route = request.routeOptions.url ?? 'unmatched';
    reply.raw.on('close', () => {
      observer.ended({ id, method, route, key_id: request.caller?.key_id ?? null, start }, reply.raw);
    });
  };
  const app: App = Fastify({
    loggerInstance: logger,
    childLoggerFactory: (parent) => parent,
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: requestIdOf,
    rewriteUrl: ({ url = '/' }) => originForm(url),
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    keepAliveTimeout: limits.keepAliveMillis,
    http: {
      maxHeaderSize: limits.headerBytesMax,
      headersTimeout: limits.headersMillisMax,
      connectionsCheckingInterval: limits.headersCheckMillis,
      // An upload may take its time; bodies have bounds of their own.
      requestTimeout: 0,
      // Answered below, in our own words.
      requireHostHeader: false,
    },
    // Given here, not set later: then Fastify does not load its own.
    schemaController: { compilersFactory: { buildValidator, buildSerializer } },
    routerOptions: { maxParamLength: limits.headerBytesMax },
    clientErrorHandler: answerClientError,
    frameworkErrors: (error, request, reply) => {
      observe(request, reply);
      sendError(error, request, reply);
    },
  }).withTypeProvider<TypeBoxTypeProvider>();

  app.setErrorHandler(sendError);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', jsonReader(options.in_flight_max));
  // A body that comes along with one is dropped, as it is for GET.
  app.addHttpMethod('DELETE', { hasBody: false, overrideExisting: true });
  app.decorateRequest('caller', null);

  const table = new RouteTable();
  app.addHook('onRoute', (route) => table.add(route));
  const look = checkFirst((request, reply) => {
    observe(request, reply);
    reply.header('x-request-id', request.id);
    if (gate.hasRefused(request.raw)) throw overloaded;
    requireOneHost(request.raw);
    // Node forgets what came along with such a request, so the client is told that the connection ends.
    if (request.headers.upgrade !== undefined) reply.raw.shouldKeepAlive = false;
    if (request.is404 || hasEmptyPart(request.params)) refuseRoute(table, request, reply);
  });
  app.addHook('onRequest', look);
  app.addHook('onSend', dropRest);
  // Not before it answers, and not while the first request waits.
  app.addHook('onListen', async () => void setTimeout(loadCompiler, limits.loadCompilerMillis).unref());

  // Never reached: a request without a route is refused before its body is looked at.
  app.setNotFoundHandler((request, reply) => refuseRoute(table, request, reply));
  answerOddities(app);

  documentRoute(app as never);
  const rateLimits = new RateLimits(metrics, options);
  const bearer = new Bearer(store, clock, metrics, rateLimits, options.uses);
  const parts: Parts = { store, pages: new PageCache(limits.pageCacheBytesMax), clock, metrics, bearer, logger };
  messageRoutes(options.page_order)(app, parts);
  childChunkRoutes(app, parts);
  modelRoutes(app, parts);
  recordRoutes(app, parts);
  adminListRoutes(app, parts);
  adminKnowledgeRoutes(app, parts);
  adminKeyRoutes(app, parts);
  adminTrafficRoutes(app, parts);
  sessionRoutes(app, parts);
  adminConversationRoutes(options.page_order)(app, parts);
  adminUsageRoutes(app, parts);
  healthRoutes(options.metrics_token)(app, parts);
  pageRoutes(app as never);

  const [route] = app.server.listeners('request') as ((request: IncomingMessage, response: ServerResponse) => void)[];
  if (route === undefined) throw new Error('the framework does not listen to its server');
  const lane = new FastLane(parts, observer, options.page_order, route);
  const connections = new Connections(app.server, lane.handle);
  const { in_flight_max } = options;
  const gate = new Gate(connections.handle, { in_flight_max, metrics, logger });
  app.server.off('request', route).on('request', gate.handle);
  app.server.maxConnections = limits.connectionsMax;
  app.addHook('onSend', connections.tell);
  app.addHook('preClose', () => {
    lane.close();
    return connections.close();
  });
  return app;
}

/** 404, or 405 where the path takes other methods: said before anything else about a request, the key included. */
function refuseRoute(table: RouteTable, request: FastifyRequest, reply: FastifyReply): never {
  const allow = table.allowed(request.url);
  if (allow === undefined) throw notFound('no such route');
  reply.header('allow', allow);
  throw new ServiceError('method_not_allowed', `this path takes ${allow}`);
}

/** The router takes `//` for an empty parameter; we take it for another path. */
function hasEmptyPart(params: unknown): boolean {
  for (const name in params as Record<string, string>) if ((params as Record<string, string>)[name] === '') return true;
  return false;
}

function requireOneHost({ httpVersion, rawHeaders }: IncomingMessage): void {
  let hosts = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) if (rawHeaders[at]?.toLowerCase() === 'host') hosts += 1;
  if (hosts > 1 || (hosts === 0 && httpVersion === '1.1')) {
    throw new ServiceError('bad_request', 'the request must have one Host header');
  }
}

/** `GET http://host/path` asks for `/path`. */
function originForm(url: string): string {
  return url.startsWith('/') ? url : url.replace(/^https?:\/\/[^/?#]*/i, '') || '/';
}

/** Requests that Node would answer by itself: without our envelope, or out of turn. */
function answerOddities(app: App): void {
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response));
  app.server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    const go = () => {
      response.writeContinue();
      app.server.emit('request', request, response);
    };
    // Behind other requests on its connection it waits, or its `100 Continue` would end up inside an answer.
    if (response.socket === null) response.once('socket', go);
    else go();
  });
  app.server.on('connect', (_request: IncomingMessage, socket: Socket) => {
    // Node has let go of the socket, and an error that nobody listens to ends the process.
    socket.on('error', () => socket.destroy());
    answerInTurn(socket, () => {
      writeError(socket, new ServiceError('method_not_allowed', 'CONNECT is not taken here'), { allow: 'GET, HEAD' });
    });
  });
}
