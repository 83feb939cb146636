import type { FastifyRequest, onRequestHookHandler } from 'fastify';
import { ServiceError } from '../../domain/errors.ts';
import { requireContentType } from '../request/body.ts';
import { checkFirst } from '../request/check-first.ts';
import type { Routes } from '../route-types.ts';
import { agentKinds } from './tool.ts';

/**
 * The Model Context Protocol for agents. It describes itself (`tools/list`), so it is not in the OpenAPI document. What fails before
 * a message is read has the error response of all routes.
 */
export const mcpRoutes: Routes = (app, dependencies) => {
  const { bearer, public_url } = dependencies;
  app.route({
    method: 'POST',
    url: '/mcp',
    schema: { hide: true },
    config: { callsTools: true, bodyDecides: true, parsesBody: true },
    onRequest: [bearer.requireKey(agentKinds), requireOrigin(public_url), requireContentType('application/json')],
    handler: async (request, reply) => {
      // The protocol is loaded here, so that a service without agents neither starts later nor needs more memory.
      const { respond } = await import('./protocol.ts');
      const response = await respond(dependencies, request, reply);
      reply.code(response.status).header('cache-control', 'no-store');
      if (response.body === null) return reply.send();
      return reply.header('content-type', 'application/json; charset=utf-8').send(await response.text());
    },
  });
};

/**
 * A hook that rejects requests of foreign pages. A page can make its own host name an address of this machine (DNS rebinding), and then
 * its requests have a `Host` header that fits. Only the browser sets `Origin`. Programs send none.
 */
function requireOrigin(publicUrl: string | undefined): onRequestHookHandler {
  return checkFirst((request: FastifyRequest) => {
    const { origin } = request.headers;
    if (origin === undefined || origin === publicUrl || isLoopback(origin, request.socket.localPort)) return;
    throw new ServiceError('forbidden', 'pages of this origin may not send requests: set PUBLIC_URL if they are yours');
  });
}

/** Whether it is a page of this machine, served at the port of this service. */
function isLoopback(origin: string, port: number | undefined): boolean {
  const url = URL.parse(origin);
  if (url === null || url.origin !== origin || !/^https?:$/.test(url.protocol)) return false;
  const isLocal = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/.test(url.hostname);
  return isLocal && Number(url.port || (url.protocol === 'https:' ? 443 : 80)) === port;
}
