import { requireContentType } from '../request/body.ts';
import type { Routes } from '../route-types.ts';
import { requireOrigin } from './origin.ts';
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
