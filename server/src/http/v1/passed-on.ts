import { leaveGate } from '../front/gate.ts';
import type { Routes } from '../route-types.ts';
import { otherUrl, prefix } from '../upstream/operations.ts';

/** Every method and path below `/v1` that no other route has is passed on, for keys of apps and knowledge bases. */
export const upstreamRoutes: Routes = (app, { upstream, owned, bearer, inFlight }) => {
  if (upstream === undefined) return;
  app.register(async (scope) => {
    // Bodies of any type are streamed, also JSON, which other routes read.
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', (_request, _payload, done) => done(null));
    scope.route({
      method: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'],
      url: otherUrl,
      schema: { hide: true },
      onRequest: bearer.requireKey(['app', 'knowledge']),
      handler: (request, reply) => {
        const { raw, id, caller } = request;
        if (caller === null) throw new Error('the route requires a key');
        upstream.pass({ request: raw, response: reply.raw, id, caller }, prefix);
        // They have a limit of their own.
        leaveGate(reply.raw, inFlight);
        reply.hijack();
      },
    });
  });
  app.addHook('onClose', async () => {
    upstream.close();
    await owned?.close();
  });
};
