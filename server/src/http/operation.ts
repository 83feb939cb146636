import type { FastifyContextConfig, FastifyReply, onRequestHookHandler } from 'fastify';
import type { Static, TObject, TSchema } from 'typebox';
import type { KeyKind } from '../contract/key-kinds.ts';
import type { Call } from '../domain/call.ts';
import { requireChatApp } from '../domain/messages/list-messages.ts';
import type { JsonBody } from '../domain/render-list.ts';
import { responses } from './openapi/openapi.ts';
import { requireContentType } from './request/body.ts';
import { checkFirst } from './request/check-first.ts';
import type { validatorCompiler } from './request/query.ts';
import { sendJson } from './response/large-page.ts';
import { onDisconnect } from './response/message-page.ts';
import type { Dependencies, Routes } from './route-types.ts';

type Request<K extends KeyKind, P extends TObject, Q extends TObject, B extends TSchema> = Call<K> & {
  params: Static<P>;
  query: Static<Q>;
  body: Static<B>;
  dependencies: Dependencies;
};

export type Operation<K extends KeyKind, P extends TObject, Q extends TObject, B extends TSchema> = {
  /** Default: that of the first kind of key. */
  tags?: string[];
  summary: string;
  description?: string;
  params?: P;
  querystring?: Q;
  headers?: TObject;
  body?: B;
  optionalBody?: TSchema;
  config?: FastifyContextConfig;
  validatorCompiler?: typeof validatorCompiler;
  /** Default: 200. */
  status?: 201;
  /** Its schema, or what `textResponse` returns. A text describes 204, a response without a body. */
  response?: object | string;
  /** What 304 means, if there is such a response. */
  unchanged?: string;
  /** Statuses of errors in addition to those that follow from the key, the query and the body. Default: 404 if there are `params`. */
  errors?: readonly number[];
  /** Of errors, if not that of all others. */
  errorBody?: TSchema;
  /** Hooks after the check of the key. */
  onRequest?: readonly onRequestHookHandler[];
  run: (request: Request<K, P, Q, B>, reply: FastifyReply) => unknown;
};

const bodyErrors = [400, 403, 408, 413, 415];
const tagOf: Partial<Record<KeyKind, string>> = { app: 'Conversations', knowledge: 'Knowledge' };

/**
 * An operation for keys of these kinds, and for console sessions if one of them is `admin`.
 *
 * @example
 * operation('revokeKey', ['admin'], 'DELETE', '/admin/keys/:key_id', {
 *   summary: 'Revoke a key',
 *   params,
 *   response: ListedKey,
 *   run: ({ params, caller, now, store }) => revokeKey(store, params.key_id, { key_id: caller.key_id, now }),
 * });
 */
export function operation<K extends KeyKind, P extends TObject, Q extends TObject, B extends TSchema>(
  operationId: string,
  kinds: readonly K[],
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
  url: string,
  described: Operation<K, P, Q, B>,
): Routes {
  const { config, validatorCompiler, status = 200, response, unchanged, errorBody, run, ...rest } = described;
  const { errors = rest.params === undefined ? [] : [404], onRequest = [], ...schema } = rest;
  const [tag = 'Admin'] = kinds.flatMap((kind) => tagOf[kind] ?? []);
  const isAdmin = kinds.some((kind) => kind === 'admin');
  const isEmpty = typeof response === 'string';
  const hasBody = schema.body !== undefined || schema.optionalBody !== undefined;
  return (app, dependencies) => {
    const { bearer, clock, store } = dependencies;
    app.route({
      method,
      url,
      schema: {
        tags: [tag],
        ...schema,
        operationId,
        security: [...kinds.map((kind) => ({ [`${kind}Key`]: [] })), ...(isAdmin ? [{ consoleSession: [] }] : [])],
        response: responses(
          { ...(response && { [isEmpty ? 204 : status]: response }), ...(unchanged && { 304: unchanged }) },
          [
            401,
            ...errors,
            ...(method === 'GET' ? [] : [403]),
            ...(schema.querystring === undefined ? [] : [400]),
            ...(hasBody ? bodyErrors : []),
          ],
          errorBody,
        ),
      },
      ...(config && { config }),
      ...(validatorCompiler && { validatorCompiler }),
      onRequest: [
        isAdmin ? bearer.requireAdmin(kinds) : bearer.requireKey(kinds),
        ...onRequest,
        ...(schema.body === undefined ? [] : [requireContentType('application/json')]),
      ],
      handler: ({ params, query, body, caller }, reply) => {
        reply.code(isEmpty ? 204 : status);
        const now = Math.floor(clock() / 1000);
        const disconnected = () => onDisconnect(reply.raw);
        const request = { params, query, body, caller, now, disconnected, store, dependencies } as Request<K, P, Q, B>;
        return run(request, reply);
      },
    });
  };
}

/** A hook: the app of the key has conversations. It runs before the parameters are validated. */
export const requireChat = checkFirst(({ caller }) => {
  if (caller !== null && 'app' in caller) requireChatApp(caller.app);
});

type Get<K extends KeyKind, P extends TObject, Q extends TObject> = Operation<K, P, Q, TSchema>;
type Described<K extends KeyKind, P extends TObject, Q extends TObject> = Omit<Get<K, P, Q>, 'run'> & {
  read: (request: Parameters<Get<K, P, Q>['run']>[0]) => Promise<JsonBody>;
};

/** An operation for keys of these kinds. Its `read` returns the text of the response. */
export const keyGet = <K extends KeyKind, P extends TObject, Q extends TObject>(
  operationId: string,
  kinds: readonly K[],
  url: string,
  { read, ...described }: Described<K, P, Q>,
): Routes => {
  const run: Get<K, P, Q>['run'] = async (request, reply) => sendJson(reply, await read(request));
  return operation(operationId, kinds, 'GET', url, { ...described, run });
};
