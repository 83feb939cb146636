import Fastify, { type FastifyInstance, type RouteOptions } from 'fastify';
import type { TOptional, TString } from 'typebox';
import { ErrorBody } from '../../contract/error.ts';
import { keyKindTable } from '../../contract/key-kinds.ts';
import { Type } from '../../contract/type.ts';
import { sessionCookie } from '../auth/session-cookie.ts';
import { cachedResult, packFile } from '../pages/page-files.ts';
import { sendFile } from '../pages/pages.ts';
import { addExamples, readExamples } from './examples.ts';
import { commonHeaders, referToHeaders } from './headers.ts';

const meanings: Record<number, string> = {
  400: 'A parameter, the body or the app mode does not fit.',
  401: 'The API key is missing or invalid.',
  404: 'What was asked for does not exist, or not for this key.',
  408: 'The client was too slow.',
  412: 'The child chunk has changed since the tag in `If-Match`.',
  413: 'The body is too large.',
  415: 'The content type is not taken here.',
  429: 'Too many requests; `Retry-After` says when to come back.',
  500: 'A fault of the service.',
  503: 'Overloaded, shutting down or without its database; `Retry-After` says when to come back.',
};

/** An answer that is not JSON. */
export const plainAnswer = (type: string, description: string) => ({
  description,
  content: { [type]: { schema: Type.String() } },
});

/** A request header that a route looks at. */
export const header = <const N extends string>(name: N, description: string) =>
  Type.Object({ [name]: Type.Optional(Type.String({ description })) } as Record<N, TOptional<TString>>);

/** The answers of a route: its own, which say what they are, the errors it names, and those that any route can give. */
export function responses(
  own: Record<number, object | string>,
  errors: readonly number[] = [],
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
  for (const status of [...errors, 429, 500, 503]) all[status] = json(ErrorBody, meanings[status] ?? '');
  return all;
}

/** `appKey` for keys of kind app, and so on. */
const keySchemes = Object.fromEntries(
  Object.entries(keyKindTable).map(([kind, { prefix, allows }]) => {
    const description = `Key of kind ${kind}, \`${prefix}…\`: ${allows}.`;
    return [`${kind}Key`, { type: 'http' as const, scheme: 'bearer', bearerFormat: 'API_KEY', description }];
  }),
);

/** What holds for everything that the console stands on. */
export const aboutAdmin = { tags: ['Admin'], security: [{ adminKey: [] }, { consoleSession: [] }] };

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
          'A session of the console, made from an admin key. It counts only on requests that carry the header ' +
          '`Backscroll-Console: 1`, and not on those that another site caused.',
      },
    },
  },
};

/** The OpenAPI document: what the routes that are added from here on say of themselves, put together when first asked for. */
export function documentRoute(app: FastifyInstance): void {
  const routes: RouteOptions[] = [];
  const document = cachedResult(async () => packFile('openapi.json', await describe(routes)));
  app.addHook('onRoute', (route) => void routes.push(route));
  app.get('/openapi.json', { schema: { hide: true } }, async (request, reply) => {
    return sendFile(request, reply, await document());
  });
}

/** A second app with the same routes, so that what describes them is not loaded at every start. */
async function describe(routes: readonly RouteOptions[]): Promise<string> {
  const { default: swagger } = await import('@fastify/swagger');
  const app = Fastify({ exposeHeadRoutes: false });
  app.setValidatorCompiler(() => () => true);
  app.setSerializerCompiler(() => JSON.stringify);
  await app.register(swagger, { openapi: about });
  for (const { method, url, schema = {} } of routes) app.route({ method, url, schema, handler: async () => '' });
  await app.ready();
  const document = app.swagger();
  referToHeaders(document as never);
  const named = nameSchemas(document as never);
  addExamples(named as never, await readExamples());
  return `${JSON.stringify(named, null, 2)}\n`;
}

type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

/** Moves every schema that has a title to the document's named schemas and refers to it from where it stood. */
function nameSchemas(document: { components: { schemas?: Record<string, Json> } }): Json {
  const schemas: Record<string, Json> = {};
  const walk = (node: Json): Json => {
    if (Array.isArray(node)) return node.map(walk);
    if (typeof node !== 'object' || node === null) return node;
    const walked = Object.fromEntries(Object.entries(node).map(([name, value]) => [name, walk(value)]));
    if (typeof walked.title !== 'string' || walked.type !== 'object') return walked;
    schemas[walked.title] ??= walked;
    return { $ref: `#/components/schemas/${walked.title}` };
  };
  const { components, ...rest } = document;
  const walked = walk(rest as Json) as { [name: string]: Json };
  const sorted = Object.fromEntries(Object.entries(schemas).sort(([a], [b]) => (a < b ? -1 : 1)));
  return { ...walked, components: { ...(components as { [name: string]: Json }), schemas: sorted } };
}
