import type { Static, TObject, TSchema } from 'typebox';
import { ListQuery, listOf } from '../../contract/admin.ts';
import { Type } from '../../contract/type.ts';
import type { CursorPage } from '../../domain/paging.ts';
import { aboutAdmin, responses } from '../openapi/openapi.ts';
import { onDisconnect } from '../response/message-page.ts';
import type { App, Dependencies } from '../route-types.ts';

type Description = {
  url: string;
  operationId: string;
  summary: string;
  description?: string;
  /** Statuses of errors in addition to those that all such routes have. */
  errors?: readonly number[];
};

type GetRoute<P extends TObject, Q extends TObject> = Description & {
  params?: P;
  /** Default: no parameters. */
  querystring?: Q;
  response: TSchema;
  /** The signal of `disconnected` aborts when the client disconnects. */
  read: (request: { params: Static<P>; query: Static<Q> }, disconnected: () => AbortSignal) => Promise<unknown>;
};

type ListRoute<P extends TObject, Q extends TObject> = Description & {
  params?: P;
  /** Default: `ListQuery`. Another schema must have its fields too. */
  querystring?: Q;
  row: TSchema;
  read: (request: { params: Static<P>; query: Static<Q> }) => Promise<CursorPage<unknown>>;
};

/** A parameter is rejected rather than ignored. */
const noParameters = Type.Object({});

/**
 * Adds a route that returns one object. Its `read` throws `notFound` if there is none.
 *
 * @example
 * adminGet(app, dependencies, {
 *   url: '/admin/apps/:app_id',
 *   operationId: 'getApp',
 *   summary: 'Get an app',
 *   params: Type.Object({ app_id }),
 *   response: AppListed,
 *   errors: [404],
 *   read: ({ params }) => requireApp(store, params.app_id),
 * });
 */
export function adminGet<P extends TObject, Q extends TObject = typeof noParameters>(
  app: App,
  { bearer }: Dependencies,
  { url, response, errors = [], read, ...schema }: GetRoute<P, Q>,
): void {
  app.route({
    method: 'GET',
    url,
    schema: {
      ...aboutAdmin,
      querystring: noParameters,
      ...schema,
      response: responses({ 200: response }, [400, 401, ...errors]),
    },
    onRequest: bearer.requireAdmin(),
    handler: (request, reply) => read(request as never, () => onDisconnect(reply.raw)),
  });
}

/** Adds a route that returns one page of a list. */
export function adminList<P extends TObject, Q extends TObject = typeof ListQuery>(
  app: App,
  { bearer }: Dependencies,
  { url, row, errors = [], read, ...schema }: ListRoute<P, Q>,
): void {
  app.route({
    method: 'GET',
    url,
    schema: {
      ...aboutAdmin,
      querystring: ListQuery,
      ...schema,
      response: responses({ 200: listOf(row) }, [400, 401, ...errors]),
    },
    onRequest: bearer.requireAdmin(),
    handler: (request) => read(request as never),
  });
}
