import type { Static, TObject, TSchema } from 'typebox';
import type { CallerOf } from '../../domain/caller.ts';
import type { JsonBody } from '../../domain/render-list.ts';
import { requireCaller } from '../auth/bearer.ts';
import { responses } from '../openapi/openapi.ts';
import type { validatorCompiler } from '../request/query.ts';
import { sendJson } from '../response/large-page.ts';
import { onDisconnect } from '../response/message-page.ts';
import type { App, Dependencies } from '../route-types.ts';

type KeyRoute<K extends 'app' | 'knowledge', P extends TObject, Q extends TObject> = {
  url: string;
  tags: string[];
  operationId: string;
  summary: string;
  description: string;
  params?: P;
  querystring?: Q;
  validatorCompiler?: typeof validatorCompiler;
  response: TSchema;
  errors: readonly number[];
  /** The signal of `disconnected` aborts when the client disconnects. */
  read: (
    request: { params: Static<P>; query: Static<Q> },
    caller: { caller: CallerOf<K>; disconnected: () => AbortSignal },
  ) => Promise<JsonBody>;
};

/** Adds a GET route for keys of one kind. Its `read` returns the text of the response. */
export function keyGet<K extends 'app' | 'knowledge', P extends TObject, Q extends TObject>(
  app: App,
  { bearer }: Dependencies,
  kind: K,
  { url, validatorCompiler, response, errors, read, ...schema }: KeyRoute<K, P, Q>,
): void {
  app.route({
    method: 'GET',
    url,
    schema: { ...schema, security: [{ [`${kind}Key`]: [] }], response: responses({ 200: response }, errors) },
    ...(validatorCompiler && { validatorCompiler }),
    onRequest: bearer.requireKey([kind]),
    handler: async (request, reply) => {
      const caller = { caller: requireCaller(request, kind), disconnected: () => onDisconnect(reply.raw) };
      return sendJson(reply, await read(request as never, caller));
    },
  });
}
