import type { FastifyContextConfig, FastifyReply, onRequestHookHandler } from 'fastify';
import type { Static, TObject, TSchema } from 'typebox';
import type { KeyKind } from '../contract/key-kinds.ts';
import type { CallerOf } from '../domain/caller.ts';
import type { Store } from '../domain/store/store.ts';
import { responses } from './openapi/openapi.ts';
import { requireContentType } from './request/body.ts';
import type { validatorCompiler } from './request/query.ts';
import { onDisconnect } from './response/message-page.ts';
import type { Dependencies, Routes } from './route-types.ts';

type Request<K extends KeyKind, P extends TObject, Q extends TObject, B extends TSchema> = {
  params: Static<P>;
  query: Static<Q>;
  body: Static<B>;
  caller: CallerOf<K>;
  /** Seconds since the epoch. */
  now: number;
  /** The signal aborts when the client disconnects. */
  disconnected: () => AbortSignal;
  store: Store;
  dependencies: Dependencies;
};

export type Operation<K extends KeyKind, P extends TObject, Q extends TObject, B extends TSchema> = {
  /** Default: GET. */
  method?: 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  url: string;
  tags?: string[];
  operationId: string;
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

/** An operation for keys of these kinds, and for console sessions if one of them is `admin`. */
export function operation<K extends KeyKind, P extends TObject, Q extends TObject, B extends TSchema>(
  kinds: readonly K[],
  described: Operation<K, P, Q, B>,
): Routes {
  const { method = 'GET', url, config, validatorCompiler, status = 200, response, unchanged, run, ...rest } = described;
  const { errors = rest.params === undefined ? [] : [404], errorBody, onRequest = [], ...schema } = rest;
  const isAdmin = kinds.some((kind) => kind === 'admin');
  const isEmpty = typeof response === 'string';
  const hasBody = schema.body !== undefined || schema.optionalBody !== undefined;
  return (app, dependencies) => {
    const { bearer, clock, store } = dependencies;
    app.route({
      method,
      url,
      schema: {
        ...schema,
        tags: schema.tags ?? ['Admin'],
        security: [...kinds.map((kind) => ({ [`${kind}Key`]: [] })), ...(isAdmin ? [{ consoleSession: [] }] : [])],
        response: responses(
          { ...(response && { [isEmpty ? 204 : status]: response }), ...(unchanged && { 304: unchanged }) },
          [
            ...[401, ...errors],
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
        return run({ params, query, body, caller, now, disconnected, store, dependencies } as never, reply);
      },
    });
  };
}
