import { leaveGate } from '../front/gate.ts';
import { checkFirst } from '../request/check-first.ts';
import type { Routes } from '../route-types.ts';
import { otherUrl, prefix } from '../upstream/operations.ts';

/** Every method and path below `/v1` that no other route has is passed on, for keys of apps and knowledge bases. */
export const upstreamRoutes: Routes = (app, { upstream, owned, bearer, inFlight }) => {
  if (upstream === undefined) return;
  const method = process.getBuiltinModule('node:http').METHODS.filter((one) => one !== 'CONNECT');
  for (const one of method) if (!app.supportedMethods.includes(one)) app.addHttpMethod(one);
  const passOn = checkFirst(({ raw, id, caller }, reply) => {
    if (caller === null) throw new Error('the route requires a key');
    upstream.pass({ request: raw, response: reply.raw, id, caller }, prefix);
    // They have a limit of their own.
    leaveGate(reply.raw, inFlight);
    reply.hijack();
  });
  app.route({
    method,
    url: otherUrl,
    schema: { hide: true },
    onRequest: [bearer.requireKey(['app', 'knowledge']), passOn],
    // Never called: `passOn` has the response, and the body, which may be of any type.
    handler: () => undefined,
  });
  app.addHook('onClose', async () => {
    upstream.close();
    await owned?.changes.close();
  });
};
