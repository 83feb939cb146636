import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { modelTypes, tables } from '../support/api-tables.ts';
import { startService } from '../support/harness.ts';
import { readOpenapi } from '../support/openapi/read-openapi.ts';
import { openapiFile, validatorOf } from '../support/openapi-check.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests read the document freely
type Json = any;

const text = readFileSync(openapiFile, 'utf8');
const document: Json = JSON.parse(text);

const messages = '/v1/messages';
const chunk = '/v1/datasets/{dataset_id}/documents/{document_id}/segments/{segment_id}/child_chunks/{child_chunk_id}';
const models = '/v1/workspaces/current/models/model-types/{model_type}';
/** What it names need not exist. */
const view = '/admin/views/{name}';

function resolve(node: Json): Json {
  if (node?.$ref === undefined) return node;
  const target = String(node.$ref)
    .split('/')
    .slice(1)
    .reduce((at: Json, part) => at?.[part.replaceAll('~1', '/').replaceAll('~0', '~')], document);
  return resolve(target ?? assert.fail(`${node.$ref} does not exist`));
}

/** A schema as the tables state it: its type without null, and whether it may be null. */
function read(node: Json): { schema: Json; nullable: boolean } {
  const schema = resolve(node);
  const cases: Json[] | undefined = schema.anyOf ?? schema.oneOf;
  if (cases !== undefined) {
    const rest = cases.map(resolve).filter(({ type }) => type !== 'null');
    assert.equal(rest.length, 1, 'a choice between one schema and null');
    return { schema: { ...schema, ...rest[0] }, nullable: rest.length < cases.length };
  }
  if (!Array.isArray(schema.type)) return { schema, nullable: false };
  const rest = schema.type.filter((type: string) => type !== 'null');
  assert.equal(rest.length, 1);
  return { schema: { ...schema, type: rest[0] }, nullable: rest.length < schema.type.length };
}

const errorCodes = [
  'invalid_param',
  'invalid_metadata',
  'bad_request',
  'not_chat_app',
  'unauthorized',
  'forbidden',
  'not_found',
  'method_not_allowed',
  'request_timeout',
  'cursor_gone',
  'precondition_failed',
  'payload_too_large',
  'unsupported_media_type',
  'too_many_requests',
  'headers_too_large',
  'internal_server_error',
  'not_implemented',
  'bad_gateway',
  'gateway_timeout',
  'service_unavailable',
];

function checkField(at: string, node: Json, row: string): void {
  const [, kind = '', nullableMark, note] = /^([^\s?]+)(\?)?(?: (.+))?$/.exec(row) ?? [];
  if (kind === 'any') {
    const { type } = resolve(node);
    assert.ok(type === undefined || [type].flat().includes('null'), `${at} may be null`);
    return;
  }
  const { schema, nullable } = read(node);
  assert.equal(nullable, nullableMark === '?', `${at}: nullable`);
  if (kind === 'open' || kind === 'map') {
    assert.equal(schema.type, 'object', at);
    if (kind === 'open') assert.notEqual(schema.additionalProperties, false, at);
    else assert.equal(schema.additionalProperties?.type, 'string', at);
  } else if (kind.startsWith('[')) {
    assert.equal(schema.type, 'array', at);
    checkField(`${at}[]`, schema.items, kind.slice(1, -1));
  } else if (/^[A-Z]/.test(kind)) {
    const expected = document.components.schemas[kind];
    assert.deepEqual(Object.keys(schema.properties ?? {}), Object.keys(expected.properties), at);
  } else {
    assert.equal(schema.type, kind, at);
  }
  if (note?.includes('|')) {
    const values = (schema.enum as unknown[] | undefined)?.filter((value) => value !== null);
    assert.deepEqual([...(values ?? [])].sort(), note.split('|').sort(), at);
  }
}

const operations: [string, string, Json][] = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods as object).map(([method, operation]): [string, string, Json] => [path, method, operation]),
);
const operationOf = (path: string, method: string): Json =>
  document.paths[path]?.[method] ?? assert.fail(`${method} ${path} is not described`);
const bodyOf = (path: string, method: string, status: number, type = 'application/json'): Json =>
  operationOf(path, method).responses[status]?.content?.[type]?.schema ??
  assert.fail(`${method} ${path}: ${status} has no schema`);

describe('openapi.json', () => {
  it('is the document of the service (`npm run openapi` writes it)', async () => {
    assert.equal(text, await readOpenapi());
  });

  it('is the document that a running service returns, whatever its settings', async (t) => {
    const service = await startService('sqlite', { PAGE_ORDER: 'oldest_first', RATE_LIMIT: '100' });
    t.after(() => service.close());
    const response = await service.request('GET', '/openapi.json');
    assert.equal(response.status, 200);
    assert.equal(response.text, JSON.stringify(document));
  });

  it('is OpenAPI 3.1, version 1.0.0', () => {
    assert.match(document.openapi, /^3\.1\.\d+$/);
    assert.equal(document.info.version, '1.0.0');
    assert.ok(document.info.title);
  });

  it('has no server URL other than /', () => {
    for (const { url } of document.servers ?? [{ url: '/' }]) assert.equal(url, '/');
  });

  it('resolves every $ref', () => {
    let count = 0;
    const walk = (node: Json): void => {
      if (typeof node !== 'object' || node === null) return;
      if (typeof node.$ref === 'string') {
        assert.match(node.$ref, /^#\//, 'only references within the document');
        resolve(node);
        count += 1;
      }
      for (const value of Object.values(node)) walk(value);
    };
    walk(document);
    assert.ok(count > 20);
  });

  it('references every named schema', () => {
    for (const name of Object.keys(document.components.schemas)) {
      assert.ok(text.includes(`"#/components/schemas/${name}"`), name);
    }
  });

  it('gives every operation a unique name, a summary and a description of every response', () => {
    const names = operations.map(([, , operation]) => operation.operationId);
    assert.ok(names.every((name) => typeof name === 'string' && name !== ''));
    assert.equal(new Set(names).size, names.length);
    for (const [path, method, { summary, responses }] of operations) {
      assert.ok(summary, `${method} ${path}`);
      for (const [status, response] of Object.entries<Json>(responses)) {
        assert.ok(resolve(response).description, `${method} ${path} ${status}`);
      }
    }
  });

  it('declares exactly the parameters of each path', () => {
    for (const [path, method, { parameters = [] }] of operations) {
      const declared = parameters.map(resolve).filter((parameter: Json) => parameter.in === 'path');
      const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      assert.deepEqual(declared.map(({ name }: Json) => name).sort(), names.sort(), `${method} ${path}`);
      for (const { required } of declared) assert.equal(required, true);
    }
  });
});

describe('operations of the API document', () => {
  it('List Conversation Messages: GET /messages, getConversationHistory', () => {
    assert.equal(operationOf(messages, 'get').operationId, 'getConversationHistory');
    assert.equal(operationOf(messages, 'get').requestBody, undefined);
    checkField('200', bodyOf(messages, 'get', 200), 'MessagePage');
    assert.ok(operationOf(messages, 'get').responses[304], '304 is described');
  });

  const parameters = [
    { name: 'conversation_id', type: 'string', required: true, minLength: 1 },
    { name: 'user', type: 'string', required: false },
    { name: 'first_id', type: 'string', required: false },
    { name: 'limit', type: 'integer', required: false, default: 20, minimum: 1, maximum: 100 },
    { name: 'page_order', type: 'string', required: false, enum: ['newest_first', 'oldest_first'] },
  ];
  for (const { name, type, required, ...bounds } of parameters) {
    it(`List Conversation Messages: parameter ${name}`, () => {
      const all: Json[] = operationOf(messages, 'get').parameters.map(resolve);
      const matching = all.filter((parameter) => parameter.name === name);
      assert.equal(matching.length, 1);
      assert.equal(matching[0].in, 'query');
      assert.equal(matching[0].required ?? false, required);
      assert.ok(matching[0].description);
      const { type: schemaType, description: _, ...rest } = resolve(matching[0].schema);
      assert.equal(schemaType, type);
      // No bounds beyond those of the table: an id that is not a UUID gets 404, not 400.
      assert.deepEqual(rest, bounds);
    });
  }

  it('List Conversation Messages: no other query parameter', () => {
    const all: Json[] = operationOf(messages, 'get').parameters.map(resolve);
    const names = all.filter((parameter) => parameter.in === 'query').map(({ name }) => name);
    assert.deepEqual(names.sort(), parameters.map(({ name }) => name).sort());
  });

  it('every list: the cursor has the pattern of an encoded sort key, and may be empty, which counts as absent', () => {
    const cursors = operations.flatMap(([, , { parameters = [] }]) =>
      parameters.map(resolve).filter((parameter: Json) => parameter.name === 'cursor'),
    );
    const lists = operations.filter(([, , { responses }]) =>
      JSON.stringify(responses[200] ?? '').includes('next_cursor'),
    );
    assert.ok(lists.length > 10);
    // The next cursor of a list of conversations is in its Link header, and that of a user's search has another name.
    assert.equal(cursors.length, lists.length + 2);
    const sortKeys = [[-1], [0], ['é', ''], [1, '👋'], [-719528, '', ''], [20, 'a"b', 3, 'x']];
    for (const { schema } of cursors) {
      const pattern = new RegExp(schema.pattern, 'u');
      for (const key of sortKeys) assert.match(Buffer.from(JSON.stringify(key)).toString('base64url'), pattern);
      assert.match('', pattern);
      for (const other of ['x', 'e30', 'W10', 'Wzs=', 'WzE']) assert.doesNotMatch(other, pattern);
    }
  });

  it('Get a Document: metadata is one of three values', () => {
    const { parameters } = operationOf('/v1/datasets/{dataset_id}/documents/{document_id}', 'get');
    const { schema } = parameters.find((parameter: Json) => parameter.name === 'metadata');
    assert.deepEqual([schema.enum, schema.default], [['all', 'only', 'without'], 'all']);
  });

  it('Create a key: each kind has the fields that the service requires and accepts', () => {
    const validator = validatorOf({ $ref: '#/components/schemas/NewKey' });
    const valid = [
      ...[{ kind: 'app', app_id: 'a' }, { kind: 'writer', app_id: 'a', workspace_id: null }, { kind: 'admin' }],
      ...[
        { kind: 'knowledge', workspace_id: 'w' },
        { kind: 'knowledge', workspace_id: 'w', dataset_ids: ['d'] },
      ],
    ];
    const invalid = [
      ...[{ kind: 'app' }, { kind: 'app', app_id: null }, { kind: 'app', app_id: '' }, { kind: 'knowledge' }],
      ...[
        { kind: 'app', app_id: 'a', dataset_ids: ['d'] },
        { kind: 'writer', app_id: 'a', workspace_id: 'w' },
      ],
      ...[
        { kind: 'admin', app_id: 'a' },
        { kind: 'knowledge', workspace_id: 'w', app_id: 'a' },
      ],
    ];
    for (const key of valid) assert.ok(validator.Check(key), JSON.stringify(key));
    for (const key of invalid) assert.ok(!validator.Check(key), JSON.stringify(key));
  });

  it('Import records: the body is text', () => {
    const { content } = operationOf('/admin/records', 'post').requestBody;
    assert.equal(content['application/x-ndjson'].schema.type, 'string');
  });

  it('Create a key and Update Child Chunk: texts have no NUL', () => {
    const { name } = document.components.schemas.NewKey.properties;
    const { content } = resolve(operationOf(chunk, 'patch').requestBody.content['application/json'].schema).properties;
    for (const { pattern } of [name, ...content.allOf]) {
      assert.match('a\nb', new RegExp(pattern, 'u'));
      assert.doesNotMatch('a\0b', new RegExp(pattern, 'u'));
    }
  });

  it('Update Child Chunk: PATCH …/child_chunks/{child_chunk_id}', () => {
    const { parameters, requestBody } = operationOf(chunk, 'patch');
    const names = ['child_chunk_id', 'dataset_id', 'document_id', 'segment_id'];
    assert.deepEqual(
      parameters
        .filter((parameter: Json) => parameter.in === 'path')
        .map((parameter: Json) => parameter.name)
        .sort(),
      names,
    );
    for (const { schema, ...parameter } of parameters) {
      if (parameter.in === 'path') assert.deepEqual([schema.type, schema.format], ['string', undefined]);
    }
    assert.equal(requestBody.required, true);
    assert.deepEqual(Object.keys(requestBody.content), ['application/json']);
    const body = resolve(requestBody.content['application/json'].schema);
    assert.equal(body.type, 'object');
    assert.deepEqual(body.required, ['content']);
    checkField('content', body.properties.content, 'string');
    assert.equal(body.properties.content.maxLength, 100_000);
    assert.notEqual(body.additionalProperties, false, 'other fields of the body are ignored');
  });

  it('Update and Get Child Chunk: the body of 200 has the chunk in data', () => {
    for (const method of ['patch', 'get']) {
      const response = resolve(bodyOf(chunk, method, 200));
      assert.deepEqual(Object.keys(response.properties), ['data']);
      assert.deepEqual(response.required, ['data']);
      checkField('data', response.properties.data, 'ChildChunk');
    }
    assert.equal(operationOf(chunk, 'get').requestBody, undefined);
    assert.ok(operationOf(chunk, 'get').responses[304]);
  });

  it('Get Available Models: GET /workspaces/current/models/model-types/{model_type}', () => {
    const { parameters, requestBody } = operationOf(models, 'get');
    assert.equal(requestBody, undefined);
    assert.equal(parameters.length, 1);
    assert.equal(parameters[0].schema.type, 'string');
    assert.deepEqual(parameters[0].schema.enum, modelTypes);
    const response = resolve(bodyOf(models, 'get', 200));
    assert.deepEqual(Object.keys(response.properties), ['data']);
    assert.deepEqual(response.required, ['data']);
    checkField('data', response.properties.data, '[ModelProvider]');
  });

  it('records, health and metrics are described too', () => {
    const post = operationOf('/admin/records', 'post');
    assert.deepEqual(Object.keys(post.requestBody?.content ?? {}), ['application/x-ndjson'], 'the body of POST');
    checkField('records', resolve(bodyOf('/admin/records', 'post', 200)).properties.records, 'integer');
    assert.ok(operationOf('/admin/records', 'get').responses[200].content['application/x-ndjson']);
    assert.ok(operationOf('/metrics', 'get').responses[200].content['text/plain']);
    operationOf('/health/live', 'get');
    operationOf('/health/ready', 'get');
  });
});

describe('fields of the API document', () => {
  for (const [name, fields] of Object.entries(tables)) {
    it(`${name} has exactly the fields of its table`, () => {
      const schema = document.components.schemas[name] ?? assert.fail('no such schema');
      assert.equal(schema.type, 'object');
      assert.deepEqual(Object.keys(schema.properties).sort(), Object.keys(fields).sort());
      assert.deepEqual([...schema.required].sort(), Object.keys(fields).sort(), 'every field is required');
      for (const [field, row] of Object.entries(fields)) checkField(`${name}.${field}`, schema.properties[field], row);
    });
  }

  it('have the format uuid exactly where the tables do', () => {
    for (const [name, fields] of Object.entries(tables)) {
      for (const [field, row] of Object.entries(fields)) {
        const { format } = document.components.schemas[name].properties[field];
        assert.equal(format === 'uuid', row.endsWith(' uuid'), `${name}.${field}: ${row}, format ${format}`);
      }
    }
  });

  it('have the formats int64, double, float and decimal where the tables do', () => {
    for (const [name, fields] of Object.entries(tables)) {
      for (const [field, row] of Object.entries(fields)) {
        const [, format] = / (int64|double|float|decimal)$/.exec(row) ?? [];
        if (format === undefined) continue;
        assert.equal(document.components.schemas[name].properties[field].format, format, `${name}.${field}`);
      }
    }
  });

  it('Error has exactly the codes of the contract', () => {
    const { code } = document.components.schemas.Error.properties;
    assert.deepEqual([...code.enum].sort(), [...errorCodes].sort());
  });

  it('Error has a description that applies to every status', () => {
    const descriptions = operations.flatMap(([, , { responses }]) =>
      Object.entries<Json>(responses)
        .filter(([status]) => Number(status) >= 400)
        .map(([, response]) => resolve(response).description),
    );
    assert.ok(!descriptions.includes(document.components.schemas.Error.description));
  });
});

describe('errors and keys of every operation', () => {
  /** The names of the keys, of which one is required; none if a key is optional. */
  const keysOf = ({ security = [] }: Json): string[] => {
    const alternatives: string[][] = security.map((one: object) => Object.keys(one));
    for (const names of alternatives) assert.ok(names.length <= 1, 'one key is enough');
    return alternatives.some((names) => names.length === 0) ? [] : alternatives.flat();
  };
  /** The errors that follow from what an operation is. The harness rejects every response that is not described. */
  const rules: { what: string; errors: number[]; applies(operation: Json, path: string, method: string): boolean }[] = [
    {
      what: 'an operation that requires a key',
      errors: [401, 429, 500, 501, 503],
      applies: (operation) => keysOf(operation).length > 0,
    },
    { what: 'an operation that reads a body', errors: [400, 408, 415], applies: ({ requestBody }) => requestBody },
    {
      what: 'an operation with parameters in its query',
      errors: [400],
      applies: ({ parameters = [] }) => parameters.some((one: Json) => resolve(one).in === 'query'),
    },
    {
      what: 'an operation on something that its path names',
      errors: [404],
      applies: (_, path) => path.endsWith('}') && path !== models && path !== view,
    },
    {
      what: 'an operation that needs more than the role viewer',
      errors: [403],
      applies: (operation) => ['editor', 'admin'].includes(operation['x-role']),
    },
    {
      what: 'a write with a key that can be read-only',
      errors: [403],
      applies: (operation, _, method) => keysOf(operation).length > 0 && method !== 'get',
    },
    { what: 'an edit with If-Match', errors: [412], applies: (_, path, method) => path === chunk && method !== 'get' },
  ];
  for (const { what, errors, applies } of rules) {
    it(`${what} documents ${errors.join(', ')}`, () => {
      const selected = operations.filter(([path, method, operation]) => applies(operation, path, method));
      assert.ok(selected.length > 0);
      for (const [path, method, { responses }] of selected)
        for (const status of errors) assert.ok(responses[status], `${method} ${path}: ${status} is not described`);
    });
  }

  it('every error has the error envelope of its API', () => {
    for (const [path, method, { responses }] of operations) {
      const $ref = `#/components/schemas/${path.startsWith('/openai/') ? 'OpenAIError' : 'Error'}`;
      for (const [status, response] of Object.entries<Json>(responses)) {
        if (Number(status) < 400) continue;
        const { content } = resolve(response);
        assert.deepEqual(Object.keys(content), ['application/json'], `${method} ${path}: ${status}`);
        assert.deepEqual(content['application/json'].schema, { $ref }, `${method} ${path}: ${status}`);
      }
    }
  });

  it('404 is not described where nothing can be missing', () => {
    for (const path of [models, view])
      for (const [method, { responses }] of Object.entries<Json>(document.paths[path]))
        assert.equal(responses[404], undefined, `${method} ${path}`);
  });

  it('401 is described exactly where there is a key to check', () => {
    for (const [path, method, operation] of operations) {
      const isSignIn = path === '/console/session' && method === 'post';
      const isChecked = keysOf(operation).length > 0 || isSignIn;
      assert.equal(operation.responses[401] !== undefined, isChecked, `${method} ${path}`);
    }
  });

  it('a console session replaces an admin key, except for /metrics', () => {
    for (const [path, method, operation] of operations) {
      if (path === '/console/session' || path === '/metrics') continue;
      const keys = keysOf(operation);
      assert.equal(keys.includes('consoleSession'), keys.includes('adminKey'), `${method} ${path}`);
    }
  });

  it('each kind of key is a bearer token that is described by its prefix, and a session is a cookie', () => {
    const prefixes = { app: 'app-', knowledge: 'dataset-', writer: 'writer-', feed: 'feed-', admin: 'admin-' };
    const { consoleSession, ...keys } = document.components.securitySchemes;
    assert.deepEqual(
      Object.keys(keys).sort(),
      Object.keys(prefixes)
        .map((kind) => `${kind}Key`)
        .sort(),
    );
    for (const [kind, prefix] of Object.entries(prefixes)) {
      const { description, ...rest } = keys[`${kind}Key`];
      assert.deepEqual(rest, { type: 'http', scheme: 'bearer', bearerFormat: 'API_KEY' });
      assert.ok(description.includes(`\`${prefix}`), kind);
    }
    const { description, ...rest } = consoleSession;
    assert.deepEqual(rest, { type: 'apiKey', in: 'cookie', name: 'backscroll_session' });
    assert.match(description, /`Backscroll-Console: 1`/);
  });
});
