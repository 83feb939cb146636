import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import Fastify, { type FastifyReply, type FastifyRequest, LogController } from 'fastify';
import { limits } from '../contract/limits.ts';
import { loadCompiler } from '../contract/validator.ts';
import { notFound, overloaded, ServiceError } from '../domain/errors.ts';
import { adminActivityRoutes } from './admin/activity.ts';
import { adminChangeRoutes } from './admin/changes.ts';
import { adminConversationRoutes } from './admin/conversations.ts';
import { adminErasureRoutes } from './admin/erasure.ts';
import { adminKeyRoutes } from './admin/keys.ts';
import { adminKnowledgeRoutes } from './admin/knowledge.ts';
import { adminMonitoringRoutes } from './admin/monitoring.ts';
import { adminReviewRoutes } from './admin/reviews.ts';
import { adminSavedViewRoutes } from './admin/saved-views.ts';
import { adminSearchRoutes } from './admin/search.ts';
import { sessionRoutes } from './admin/session.ts';
import { adminUsageRoutes } from './admin/usage.ts';
import { adminWorkspaceRoutes } from './admin/workspaces.ts';
import { dependenciesOf } from './dependencies.ts';
import { Connections } from './front/connections.ts';
import { isRejected } from './front/gate.ts';
import { rejectInvalidHttp } from './front/socket-responses.ts';
import { mcpRoutes } from './mcp/routes.ts';
import { requestIdOf, unmatchedRoute } from './observe/observe.ts';
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
import { validatorCompiler } from './request/query.ts';
import { RouteTable } from './request/route-table.ts';
import type { App, AppOptions, Dependencies, Routes } from './route-types.ts';
import { createServer } from './server.ts';
import { appInfoRoutes } from './v1/app-info.ts';
import { chatMessageRoutes } from './v1/chat-messages.ts';
import { childChunkRoutes } from './v1/child-chunks.ts';
import { conversationRoutes } from './v1/conversations.ts';
import { datasetRoutes } from './v1/datasets.ts';
import { healthRoutes } from './v1/health.ts';
import { messageRoutes } from './v1/messages.ts';
import { modelRoutes } from './v1/models.ts';
import { upstreamRoutes } from './v1/passed-on.ts';
import { recordRoutes } from './v1/records.ts';
import { contextOf } from './workers/context.ts';

/** Time from the start of the service until the schema compiler is loaded, unless a request needs it earlier. */
const loadCompilerMillis = 500;

/** In the order of the OpenAPI document. */
const routes: readonly Routes[] = [
  documentRoutes,
  messageRoutes,
  chatMessageRoutes,
  conversationRoutes,
  appInfoRoutes,
  datasetRoutes,
  childChunkRoutes,
  modelRoutes,
  recordRoutes,
  openaiRoutes,
  adminWorkspaceRoutes,
  adminKnowledgeRoutes,
  adminActivityRoutes,
  adminKeyRoutes,
  adminMonitoringRoutes,
  sessionRoutes,
  adminConversationRoutes,
  adminErasureRoutes,
  adminUsageRoutes,
  adminReviewRoutes,
  adminSavedViewRoutes,
  adminChangeRoutes,
  adminSearchRoutes,
  mcpRoutes,
  healthRoutes,
  pageRoutes,
  upstreamRoutes,
];

/** Instead of those of Fastify, so that it does not load its own compilers. */
const compilersFactory = {
  buildValidator: () => () => {
    throw new Error('the app sets its validator');
  },
  buildSerializer: () => () => JSON.stringify,
};

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
      noteRead(dependencies, request, reply);
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
    schemaController: { compilersFactory },
    routerOptions: { maxParamLength: limits.headerBytesMax },
    frameworkErrors: (error, request, reply) => {
      observe(request, reply);
      errors.send(error, request, reply);
    },
  }).withTypeProvider<TypeBoxTypeProvider>();

  app.setValidatorCompiler(validatorCompiler);
  app.setErrorHandler(errors.send);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', jsonReader(options.in_flight_max / workers));
  // The body of a DELETE is ignored, like that of a GET, unless a route reads it with `optionalBody`.
  app.addHttpMethod('DELETE', { hasBody: false, overrideExisting: true });
  app.decorateRequest('caller', null);
  app.decorateRequest('tool', null);

  if (owned !== undefined) app.addHook('onRoute', owned.decorateRoute);
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
  app.addHook('preParsing', async (request) => requireUnambiguousBody(request.raw));
  app.addHook('onSend', dropRest);
  app.addHook('onSend', connections.announceEnd);
  // Loaded after the service is ready, so that neither the start nor the first request has to wait for it.
  app.addHook('onListen', async () => void setTimeout(loadCompiler, loadCompilerMillis).unref());
  // First, since connections are closed when their requests have ended.
  app.addHook('preClose', async () => dependencies.changeWatch.close());
  app.addHook('preClose', () => connections.close());
  app.addHook('onClose', async () => context.peers.close());
  app.addHook('onClose', () => dependencies.reads.save());
  // Never called: `checkRequest` rejects a request without a route before its body is read.
  app.setNotFoundHandler((request, reply) => rejectRoute(table, request, reply));

  for (const add of routes) add(app, dependencies);
  return app;
}

/** Tools of agents note their own reads. */
function noteRead({ reads, clock }: Dependencies, request: FastifyRequest, { raw }: FastifyReply): void {
  const { caller, query, params, routeOptions } = request;
  const operation = routeOptions.schema?.operationId;
  if (!reads.has(operation) || caller === null || raw.statusCode >= 400) return;
  reads.note(operation, caller.key_id, Object.assign({}, query, params), Math.floor(clock() / 1000));
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
