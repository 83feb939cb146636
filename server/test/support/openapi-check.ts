import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { Compile, type Validator } from 'typebox/compile';
import type { TestResponse } from './harness.ts';

export const openapiFile = new URL('../../../openapi.json', import.meta.url);

type Schema = { [name: string]: unknown };
type DescribedResponse = { headers?: object; content?: Record<string, { schema: Schema }> };
type Operation = { responses: Record<string, DescribedResponse | { $ref: string }> };
type Document = {
  paths: Record<string, Record<string, Operation>>;
  components: {
    schemas: Record<string, Schema>;
    responses: Record<string, DescribedResponse>;
    headers: Record<string, { schema: Schema }>;
  };
};

const document = JSON.parse(readFileSync(openapiFile, 'utf8')) as Document;

function resolve(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(resolve);
  if (typeof node !== 'object' || node === null) return node;
  const { $ref } = node as { $ref?: string };
  if ($ref !== undefined) return resolve(document.components.schemas[$ref.split('/').pop() ?? '']);
  return Object.fromEntries(Object.entries(node).map(([name, value]) => [name, resolve(value)]));
}

const paths = Object.entries(document.paths).map(([path, methods]) => ({
  pattern: new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`),
  methods,
}));

const errorBody = Compile(resolve({ $ref: '#/components/schemas/Error' }) as never);
const openaiErrorBody = Compile(resolve({ $ref: '#/components/schemas/OpenAIError' }) as never);
const validators = new WeakMap<object, Validator>();

/** The validator of a schema of the document, compiled once. */
export function validatorOf(schema: Schema): Validator {
  let validator = validators.get(schema);
  if (validator === undefined) {
    validator = Compile(resolve(schema) as never) as Validator;
    validators.set(schema, validator);
  }
  return validator;
}

/** Fails if a response is not described by the OpenAPI document. */
export function checkResponse(method: string, url: string, response: TestResponse): void {
  const { status, headers, body } = response;
  assert.ok(headers['x-request-id'], 'every response has X-Request-Id');
  if (status >= 400) {
    // What `/mcp` rejects has the form of its protocol, once a message was read.
    const isRpc = url === '/mcp' && body?.jsonrpc === '2.0';
    const isOpenai = url.startsWith('/openai/');
    const envelope = isOpenai ? openaiErrorBody : errorBody;
    if (method !== 'HEAD' && !isRpc) assert.ok(envelope.Check(body), `not the error envelope: ${response.text}`);
    assert.equal(method === 'HEAD' || isRpc || isOpenai ? status : body.status, status);
    assert.equal(
      status === 401,
      headers['www-authenticate'] === 'Bearer realm="api"',
      'WWW-Authenticate exactly with 401',
    );
    assert.equal(status === 405, headers.allow !== undefined, 'Allow exactly with 405');
    assert.equal(
      status === 429 || status === 503,
      headers['retry-after'] !== undefined,
      'Retry-After exactly with 429 and 503',
    );
  }
  const path = url.split('?', 1)[0] ?? '';
  const operation = paths.find(({ pattern }) => pattern.test(path))?.methods[
    method === 'HEAD' ? 'get' : method.toLowerCase()
  ];
  if (operation === undefined) return;
  const found = operation.responses[status];
  const describedResponse =
    found && '$ref' in found ? document.components.responses[found.$ref.split('/').pop() ?? ''] : found;
  // Repeated headers are rejected before routing, so it can happen on any path.
  if (describedResponse === undefined) {
    const isBadRequest = method === 'HEAD' ? status === 400 : (body?.code ?? body?.error?.code) === 'bad_request';
    return assert.ok(isBadRequest, `${method} ${path}: ${status} is not described`);
  }
  for (const [name, value] of Object.entries(headers)) {
    if (!/^(?:ratelimit|retry-after)/.test(name)) continue;
    const headerName: string | undefined = Object.keys(describedResponse.headers ?? {}).find(
      (header) => header.toLowerCase() === name,
    );
    assert.ok(headerName, `${method} ${path}: ${status}: ${name} is not described`);
    const { type } = document.components.headers[headerName]?.schema ?? {};
    assert.match(String(value), type === 'integer' ? /^\d+$/ : /^"/, name);
  }
  const type = String(headers['content-type']).split(';', 1)[0] as string;
  const schema = describedResponse.content?.[type]?.schema ?? describedResponse.content?.['application/json']?.schema;
  // Other texts are strings by themselves.
  if (schema === undefined || (describedResponse.content?.[type] !== undefined && type !== 'application/json')) return;
  if (method === 'HEAD' || status === 304) return;
  const validator = validatorOf(schema);
  assert.ok(validator.Check(body), `${method} ${path}: ${status}: ${JSON.stringify(validator.Errors(body)[0])}`);
}
