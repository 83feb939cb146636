import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { openapiFile } from '../../server/test/support/openapi-check.ts';
import type { Random } from '../support/random.ts';
import type { Header, RequestParts } from './exchange.ts';
import type { HostileFixture, HostileTenant } from './fixture.ts';
import { malformJson, mutateJson, oddParts, oddQueries } from './odd-values.ts';
import { adminKinds, mutateRecords, sampleRecords, writerKinds } from './records.ts';

type Schema = {
  $ref?: string;
  type?: string | string[];
  enum?: string[];
  properties?: Record<string, Schema>;
  default?: unknown;
};
type Parameter = { in: string; name: string; required?: boolean; schema: Schema };
export type Operation = {
  method: string;
  path: string;
  /** The statuses of success. */
  successes: number[];
  /** The accepted security schemes; empty if no key is required. */
  security: string[];
  parameters: Parameter[];
  /** The content type of the body, and its schema. */
  body: [type: string, schema: Schema] | undefined;
};

type OperationObject = {
  security?: Record<string, unknown>[];
  parameters?: Parameter[];
  requestBody?: { content: Record<string, { schema: Schema }> };
  responses: Record<string, unknown>;
};

type Document = {
  paths: Record<string, Record<string, OperationObject>>;
  components: { schemas: Record<string, Schema> };
};
const { paths, components } = JSON.parse(readFileSync(openapiFile, 'utf8')) as Document;

function resolve(schema: Schema): Schema {
  if (schema.$ref === undefined) return schema;
  const target = components.schemas[schema.$ref.replace('#/components/schemas/', '')];
  if (target === undefined) throw new Error(`${schema.$ref} is not in the OpenAPI document`);
  return resolve(target);
}

/** Every operation of the OpenAPI document, so that new ones are covered automatically. */
export const operations: readonly Operation[] = Object.entries(paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, { security = [], parameters = [], requestBody, responses }]) => {
    const [body] = Object.entries(requestBody?.content ?? {});
    const schemes = security.map((one) => Object.keys(one));
    return {
      method: method.toUpperCase(),
      path,
      successes: Object.keys(responses)
        .map(Number)
        .filter((status) => status < 300),
      security: schemes.some(({ length }) => length === 0) ? [] : schemes.flat(),
      parameters,
      body: body && ([body[0], resolve(body[1].schema)] as [string, Schema]),
    };
  }),
);

export type Mutation = 'none' | 'path' | 'query' | 'header' | 'body' | 'owner';

/** Whether a value of this query parameter is valid in every state of the data, and with every other parameter. */
function isAlwaysValid(path: string, name: string): boolean {
  if (path.startsWith('/admin/search')) return name === 'q' || name === 'limit';
  const names = ['limit', 'page', 'user', 'keyword', 'page_order', 'sort_by', 'order', 'include', 'wait'];
  return names.includes(name);
}

/** The id of a record that no other request deletes; undefined if the parameter does not name one. */
/** `isLast`: the record that is deleted, not one above it. */
function deletableValue(
  { name }: Parameter,
  isLast: boolean,
  { deletable, deletableSegment }: HostileTenant,
): string | undefined {
  const ids = isLast ? deletable[name] : undefined;
  if (ids === undefined) return name === 'segment_id' && 'child_chunk_id' in deletable ? deletableSegment : undefined;
  return ids.pop() ?? fail('the fixture has too few records to delete');
}

function fail(message: string): never {
  throw new Error(message);
}

/** Generates requests for operations: valid ones, and ones with a single invalid part. */
export class OperationRequests {
  readonly #random: Random;
  readonly #fixture: HostileFixture;

  constructor(random: Random, fixture: HostileFixture) {
    this.#random = random;
    this.#fixture = fixture;
  }

  /** Exports grow with the imported records, so they are requested rarely. */
  pick(): Operation {
    const operation = this.#random.pick(operations);
    const isExport = operation.method === 'GET' && operation.path === '/admin/records';
    return isExport && !this.#random.chance(0.02) ? this.pick() : operation;
  }

  /** A key of the kind that a security scheme names. */
  key(scheme: string | undefined, tenant: HostileTenant): string {
    const { admin, busy } = this.#fixture;
    const kind = scheme?.replace(/Key$/, '') ?? '';
    // An admin key is accepted wherever a session is, except by the session operation itself.
    if (kind === 'admin' || kind === 'consoleSession') return admin;
    return tenant.keys[kind as keyof HostileTenant['keys']] ?? busy.keys.app;
  }

  /** A valid value of a parameter for this tenant. */
  value({ name, schema }: Parameter, tenant: HostileTenant): string {
    const { ids, messages, otherKeys } = tenant;
    const ownValues: Record<string, string | undefined> = {
      workspace_id: ids.workspace,
      app_id: ids.app,
      conversation_id: ids.conversation,
      first_id: this.#random.pick(messages),
      message_id: this.#random.pick(messages),
      key_id: this.#random.pick(otherKeys),
      // A longer wait would delay the other requests of the connection.
      wait: '1',
      q: 'text',
      model_type: 'llm',
      dataset_id: ids.dataset,
      document_id: ids.document,
      segment_id: ids.segment,
      child_chunk_id: ids.chunk,
      user: 'ann',
    };
    const ownValue = ownValues[name];
    if (ownValue !== undefined) return ownValue;
    if (schema.enum !== undefined) return this.#random.pick(schema.enum);
    if (schema.type === 'integer' || schema.type === 'number') return String(1 + this.#random.below(100));
    return name.endsWith('id') ? randomUUID() : 'x';
  }

  /**
   * A request that is valid except for the part that `mutation` names, and for its method. Writes go to the busy tenant.
   * Each deletion has a record of its own, so other requests stay valid.
   */
  make(operation: Operation, mutation: Mutation, marker: string, method = operation.method): RequestParts {
    const random = this.#random;
    const { busy, stable } = this.#fixture;
    const tenant = method === 'GET' && random.chance(0.5) ? stable : busy;
    const scheme = operation.security.length > 0 ? random.pick(operation.security) : undefined;
    // An admin key can write to every tenant, but nothing here may write to the stable one.
    const isAdminWrite = method !== 'GET' && this.key(scheme, tenant) === this.#fixture.admin;
    // Owner mutation: the key of one tenant, the ids of the other.
    const owner = mutation === 'owner' && !isAdminWrite ? (tenant === busy ? stable : busy) : tenant;
    const headers: Header[] = scheme === undefined ? [] : [['authorization', `Bearer ${this.key(scheme, tenant)}`]];
    const inPath = operation.parameters.filter((one) => one.in === 'path');
    const mutated = mutation === 'path' && inPath.length > 0 ? random.pick(inPath) : undefined;
    let target = operation.path;
    for (const parameter of inPath) {
      const ownValue = method === 'DELETE' ? deletableValue(parameter, parameter === inPath.at(-1), owner) : undefined;
      const value = parameter === mutated ? random.pick(oddParts) : (ownValue ?? this.value(parameter, owner));
      target = target.replace(`{${parameter.name}}`, () => value);
    }
    target += this.#query(operation, mutation, owner);
    for (const { in: where, name } of operation.parameters) {
      const isIncluded = mutation === 'header' || (mutation !== 'none' && random.chance(0.1));
      if (where === 'header' && isIncluded) headers.push([name, this.#tags()]);
    }
    if (operation.body === undefined) return { method, target, headers };
    headers.push(['content-type', operation.body[0]]);
    const body = this.#body(operation, operation.body, scheme, mutation, owner, marker);
    return { method, target, headers, body };
  }

  #query({ path, parameters }: Operation, mutation: Mutation, tenant: HostileTenant): string {
    const random = this.#random;
    const included = parameters.filter(
      ({ in: where, name, required }) =>
        where === 'query' && (required || (random.chance(0.4) && (mutation !== 'none' || isAlwaysValid(path, name)))),
    );
    const pairs = included.map((one) => `${one.name}=${this.value(one, tenant)}`);
    if (mutation !== 'query') return pairs.length > 0 ? `?${pairs.join('&')}` : '';
    if (pairs.length === 0 || random.chance(0.3)) return `?${[...pairs, random.pick(oddQueries)].join('&')}`;
    const at = random.below(pairs.length);
    const name = included[at]?.name;
    const changed = random.weighted<string[]>([
      [5, [`${name}=${random.pick(oddParts)}`]],
      [1, []],
      [1, [`${name}=`]],
      [1, [name ?? '']],
      [1, [pairs[at] ?? '', pairs[at] ?? '']],
      [1, [`${name}[]=${random.pick(oddParts)}`]],
      [1, [(pairs[at] ?? '').toUpperCase()]],
    ]);
    return `?${pairs.toSpliced(at, 1, ...changed).join('&')}`;
  }

  #tags(): string {
    return this.#random.pick([
      '*',
      '"x"',
      'W/"x"',
      '"',
      '""',
      'x',
      '*, "x"',
      '"a","b" , "c"',
      '"'.repeat(999),
      `"${'t'.repeat(4000)}"`,
      ',,,',
      '"\xe9"',
    ]);
  }

  #body(
    { method, path }: Operation,
    [type, schema]: [string, Schema],
    scheme: string | undefined,
    mutation: Mutation,
    tenant: HostileTenant,
    marker: string,
  ): Buffer | string {
    const random = this.#random;
    if (type === 'application/x-ndjson') {
      // An admin key can write to every tenant, but nothing here may write to the stable one.
      const [kinds, owner] = scheme === 'adminKey' ? [adminKinds, this.#fixture.busy] : [writerKinds, tenant];
      const lines = Array.from({ length: 1 + random.below(4) }, () =>
        sampleRecords(random, kinds, owner, marker),
      ).flat();
      return mutation === 'body'
        ? mutateRecords(random, lines)
        : lines.map((line) => `${JSON.stringify(line)}\n`).join('');
    }
    const { ids } = tenant;
    const text = `${marker} a text of several words`;
    const ownBodies: Record<string, Record<string, unknown>> = {
      'POST /admin/keys': { kind: 'app', name: text, app_id: ids.app },
      'PATCH /admin/keys/{key_id}': { read_only: random.chance(0.5) },
      'POST /console/session': { key: this.#fixture.admin },
      // Erases nothing, so that other requests stay valid.
      'POST /admin/purge': { app_id: ids.app, user: text },
      // Without feedback a message has none to remove, so that rating is not always valid.
      'POST /v1/messages/{message_id}/feedbacks': {
        rating: random.pick(['like', 'dislike']),
        content: text,
        user: 'ann',
      },
      'POST /v1/conversations/{conversation_id}/name': { name: text, user: 'ann' },
      'PUT /admin/views/{name}': { address: '#/conversations' },
      'POST /openai/v1/conversations/{conversation_id}/items': { items: [{ role: 'user', content: text }] },
    };
    const object =
      ownBodies[`${method} ${path}`] ??
      Object.fromEntries(
        Object.entries(schema.properties ?? {}).map(([name, { type, enum: values, default: value }]) => {
          if (values !== undefined) return [name, random.pick(values)];
          if (name === 'user' || name.endsWith('_id')) return [name, this.value({ in: '', name, schema: {} }, tenant)];
          return [name, value ?? (type === 'string' ? text : type === 'integer' ? 1 : null)];
        }),
      );
    if (mutation !== 'body') return JSON.stringify(object);
    return random.weighted<() => Buffer | string>([
      [6, () => mutateJson(random, object)],
      [4, () => malformJson(random, JSON.stringify(object))],
      [1, () => JSON.stringify({ ...object, content: `${marker}${'x'.repeat(100_001)}` })],
      [0.1, () => JSON.stringify({ ...object, content: `${marker}${'x'.repeat(1_048_600)}` })],
      [0.02, () => JSON.stringify({ ...object, content: `${marker}${'x'.repeat(4_000_000)}` })],
    ])();
  }
}
