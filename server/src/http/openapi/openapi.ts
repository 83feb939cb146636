import Fastify, { type RouteOptions } from 'fastify';
import type { TOptional, TString } from 'typebox';
import { ErrorBody, errorTable } from '../../contract/error.ts';
import { keyKindTable } from '../../contract/key-kinds.ts';
import { requiredRole } from '../../contract/people/roles.ts';
import { productVersion } from '../../contract/product.ts';
import { recordKinds, records } from '../../contract/record.ts';
import { Type } from '../../contract/type.ts';
import { sessionCookie } from '../auth/session-cookie.ts';
import { cachedResult, packFile } from '../pages/page-files.ts';
import { sendFile } from '../pages/pages.ts';
import type { Routes } from '../route-types.ts';
import { type OpenApi, operationsOf } from './document.ts';
import { addExamples, readExamples, readRecordExamples } from './examples.ts';
import { commonHeaders, referToHeaders } from './headers.ts';

const meanings: Record<number, string> = {
  400: 'A parameter, the body or the app mode is invalid.',
  401: 'The API key is missing or invalid.',
  403: 'The API key is read-only, or its role does not allow the operation.',
  404: 'The resource does not exist, or the key does not allow access to it.',
  408: 'The client was too slow.',
  410: 'The cursor is no longer valid: start again without it.',
  412: 'The child chunk no longer has the ETag in `If-Match`.',
  413: 'The body is too large.',
  415: 'The content type is not supported.',
  429: 'Too many requests. `Retry-After` is the number of seconds to wait.',
  500: 'An error in the service.',
  501: 'The body has a transfer coding other than chunked.',
  503: 'The service is overloaded or shutting down, or its database is unavailable. `Retry-After` is the number of seconds to wait.',
};

/** A response that is not JSON. */
export const textResponse = (type: string, description: string) => ({
  description,
  content: { [type]: { schema: Type.String() } },
});

/** A request header that a route uses. */
export const header = <const N extends string>(name: N, description: string) =>
  Type.Object({ [name]: Type.Optional(Type.String({ description })) } as Record<N, TOptional<TString>>);

/** The responses of a route: its own, the errors in `errors`, and the errors that every route has, in the shape `error`. */
export function responses(
  own: Record<number, object | string>,
  errors: readonly number[] = [],
  error: object = ErrorBody,
): Record<number, unknown> {
  const json = (schema: object, description: string) => ({ description, content: { 'application/json': { schema } } });
  const all: Record<number, unknown> = {};
  for (const [status, response] of Object.entries(own)) {
    all[Number(status)] =
      typeof response === 'string'
        ? { type: 'null', description: response }
        : 'content' in response
          ? response
          : json(response, 'description' in response ? String(response.description) : 'Done.');
  }
  for (const status of [...errors, 429, 500, 501, 503]) all[status] = json(error, meanings[status] ?? '');
  return all;
}

/** `appKey` for keys of kind app, and so on. */
const keySchemes = Object.fromEntries(
  Object.entries(keyKindTable).map(([kind, { prefix, allows }]) => {
    const description = `Key of kind ${kind}, \`${prefix}…\`: ${allows}.`;
    return [`${kind}Key`, { type: 'http' as const, scheme: 'bearer', bearerFormat: 'API_KEY', description }];
  }),
);

const about = {
  openapi: '3.1.0',
  info: {
    title: 'Backscroll',
    version: '1.0.0',
    description: 'Conversation message history, child chunks of knowledge bases, and model listings.',
  },
  servers: [{ url: '/', description: 'This server' }],
  components: {
    headers: commonHeaders,
    securitySchemes: {
      ...keySchemes,
      consoleSession: {
        type: 'apiKey' as const,
        in: 'cookie' as const,
        name: sessionCookie,
        description:
          'A console session, created with an admin key. It is valid only on requests with the header ' +
          '`Backscroll-Console: 1`, and not on requests that another site caused.',
      },
    },
  },
};

/** Serves the OpenAPI document of all routes that are added after this one. It is built on the first request. */
export const documentRoutes: Routes = (app) => {
  const routes: RouteOptions[] = [];
  const document = cachedResult(async () => packFile('openapi.json', await describe(routes)));
  app.addHook('onRoute', (route) => void routes.push(route));
  app.get('/openapi.json', { schema: { hide: true } }, async (request, reply) => {
    return sendFile(request, reply, await document());
  });
};

/** Uses a second app with the same routes, so that `@fastify/swagger` is not loaded at every start. */
async function describe(routes: readonly RouteOptions[]): Promise<string> {
  const { default: swagger } = await import('@fastify/swagger');
  const app = Fastify({ exposeHeadRoutes: false });
  app.setValidatorCompiler(() => () => true);
  app.setSerializerCompiler(() => JSON.stringify);
  await app.register(swagger, { openapi: about });
  for (const { method, url, schema: { optionalBody: body, ...schema } = {} } of routes) {
    const { operationId = '', security = [] } = schema;
    const role = security.some((scheme) => 'adminKey' in scheme) && { 'x-role': requiredRole(operationId) };
    app.route({
      method,
      url,
      schema: { ...schema, ...(body === undefined ? {} : { body }), ...role },
      handler: async () => '',
    });
  }
  await app.ready();
  const document: OpenApi = app.swagger();
  const optional = new Set(routes.flatMap(({ schema }) => (schema?.optionalBody ? schema.operationId : [])));
  for (const { operationId, requestBody } of operationsOf(document)) {
    if (requestBody !== undefined && optional.has(operationId)) Object.assign(requestBody, { required: false });
  }
  referToHeaders(document);
  const named = nameSchemas(document);
  addExamples(named, await readExamples());
  nameErrors(named);
  const examples = await readRecordExamples();
  const described = {
    ...named,
    info: { ...about.info, 'x-backscroll-version': productVersion() },
    'x-errors': Object.entries(errorTable).map(([code, [status, when]]) => ({ status, code, when })),
    'x-records': recordKinds.map((kind) => ({ kind, schema: records[kind], example: examples[kind] })),
  };
  return JSON.stringify(described);
}

/** Moves the error responses, which many operations share, to `components/responses`. */
function nameErrors(document: OpenApi): void {
  const { STATUS_CODES } = process.getBuiltinModule('node:http');
  const shared: Record<string, object> = {};
  for (const { responses } of operationsOf(document)) {
    for (const [status, response] of Object.entries(responses)) {
      if (Number(status) < 400) continue;
      const hasLimits = 'headers' in response && 'RateLimit' in (response.headers as object);
      const prefix = JSON.stringify(response).includes('/schemas/OpenAIError') ? 'OpenAI' : '';
      const name = `${prefix}${(STATUS_CODES[status] ?? '').replaceAll(' ', '')}${hasLimits ? 'WithLimits' : ''}`;
      shared[name] ??= response;
      if (JSON.stringify(shared[name]) === JSON.stringify(response)) {
        responses[status] = { $ref: `#/components/responses/${name}` };
      }
    }
  }
  const responses = Object.fromEntries(Object.entries(shared).sort(([a], [b]) => (a < b ? -1 : 1)));
  document.components = { ...document.components, responses };
}

/** Moves every schema with a title to `components/schemas`, and replaces it with a reference. */
function nameSchemas(document: OpenApi): OpenApi {
  const schemas: Record<string, unknown> = {};
  const walk = (node: unknown): unknown => {
    if (Array.isArray(node)) return node.map(walk);
    if (typeof node !== 'object' || node === null) return node;
    const walked = Object.fromEntries(Object.entries(node).map(([name, value]) => [name, walk(value)]));
    if (typeof walked.title !== 'string' || walked.type !== 'object') return walked;
    schemas[walked.title] ??= walked;
    return { $ref: `#/components/schemas/${walked.title}` };
  };
  const { components, ...rest } = document;
  const walked = walk(rest) as typeof rest;
  const sorted = Object.fromEntries(Object.entries(schemas).sort(([a], [b]) => (a < b ? -1 : 1)));
  return { ...walked, components: { ...components, schemas: sorted } };
}
