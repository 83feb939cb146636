import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { openapiFile } from '../../test/support/openapi-check.ts';
import type { Random } from '../support/random.ts';
import type { Header, RequestParts } from './exchange.ts';
import type { HostileFixture, HostileTenant } from './fixture.ts';
import { malformJson, mutateJson, oddParts, oddQueries } from './odd-values.ts';
import { adminKinds, mutateRecords, sampleRecord, writerKinds } from './records.ts';

type Schema = {
  $ref?: string;
  type?: string | string[];
  enum?: string[];
  properties?: Record<string, Schema>;
  default?: unknown;
};
type Parameter = { in: string; name: string; schema: Schema };
export type Operation = {
  method: string;
  path: string;
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
  Object.entries(methods).map(([method, { security = [], parameters = [], requestBody }]) => {
    const [body] = Object.entries(requestBody?.content ?? {});
    const schemes = security.map((one) => Object.keys(one));
    return {
      method: method.toUpperCase(),
      path,
      security: schemes.some(({ length }) => length === 0) ? [] : schemes.flat(),
      parameters,
      body: body && ([body[0], resolve(body[1].schema)] as [string, Schema]),
    };
  }),
);

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
    const { ids, messages } = tenant;
    const ownValues: Record<string, string | undefined> = {
      workspace_id: ids.workspace,
      app_id: ids.app,
      conversation_id: ids.conversation,
      first_id: this.#random.pick(messages),
      dataset_id: ids.dataset,
      document_id: ids.document,
      segment_id: ids.segment,
      child_chunk_id: ids.chunk,
      user: 'ann',
    };
    if (schema.enum !== undefined) return this.#random.pick(schema.enum);
    if (schema.type === 'integer' || schema.type === 'number') return String(1 + this.#random.below(100));
    return ownValues[name] ?? (name.endsWith('id') ? randomUUID() : 'x');
  }

  /** A request that is valid except for the part that `mutation` names. Writes go to the busy tenant. */
  make(
    operation: Operation,
    mutation: 'none' | 'path' | 'query' | 'header' | 'body' | 'owner',
    marker: string,
  ): RequestParts {
    const random = this.#random;
    const { busy, stable } = this.#fixture;
    const tenant = operation.method === 'GET' && random.chance(0.5) ? stable : busy;
    const scheme = operation.security.length > 0 ? random.pick(operation.security) : undefined;
    // An admin key can write to every tenant, but nothing here may write to the stable one.
    const isAdminWrite = operation.method !== 'GET' && this.key(scheme, tenant) === this.#fixture.admin;
    // Owner mutation: the key of one tenant, the ids of the other.
    const owner = mutation === 'owner' && !isAdminWrite ? (tenant === busy ? stable : busy) : tenant;
    const headers: Header[] = scheme === undefined ? [] : [['authorization', `Bearer ${this.key(scheme, tenant)}`]];
    const inPath = operation.parameters.filter((one) => one.in === 'path');
    const mutated = mutation === 'path' && inPath.length > 0 ? random.pick(inPath) : undefined;
    let target = operation.path;
    for (const parameter of inPath) {
      // The chunk of the tenant is never deleted: valid writes edit it.
      const isDeleted = operation.method === 'DELETE' && parameter.name === 'child_chunk_id';
      const ownValue = isDeleted ? randomUUID() : this.value(parameter, owner);
      const value = parameter === mutated ? random.pick(oddParts) : ownValue;
      target = target.replace(`{${parameter.name}}`, () => value);
    }
    target += this.#query(operation, mutation === 'query', owner);
    for (const { in: where, name } of operation.parameters) {
      if (where === 'header' && (mutation === 'header' || random.chance(0.1))) headers.push([name, this.#tags()]);
    }
    if (operation.body === undefined) return { method: operation.method, target, headers };
    headers.push(['content-type', operation.body[0]]);
    const body = this.#body(operation.body, scheme, mutation, owner, marker);
    return { method: operation.method, target, headers, body };
  }

  #query({ parameters }: Operation, isMutated: boolean, tenant: HostileTenant): string {
    const random = this.#random;
    const included = parameters.filter(
      (one) => one.in === 'query' && (one.name === 'conversation_id' || random.chance(0.4)),
    );
    const pairs = included.map((one) => `${one.name}=${this.value(one, tenant)}`);
    if (!isMutated) return pairs.length > 0 ? `?${pairs.join('&')}` : '';
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
    [type, schema]: [string, Schema],
    scheme: string | undefined,
    mutation: string,
    tenant: HostileTenant,
    marker: string,
  ): Buffer | string {
    const random = this.#random;
    if (type === 'application/x-ndjson') {
      // An admin key can write to every tenant, but nothing here may write to the stable one.
      const [kinds, owner] = scheme === 'adminKey' ? [adminKinds, this.#fixture.busy] : [writerKinds, tenant];
      const lines = Array.from({ length: 1 + random.below(4) }, () => sampleRecord(random, kinds, owner, marker));
      return mutation === 'body'
        ? mutateRecords(random, lines)
        : lines.map((line) => `${JSON.stringify(line)}\n`).join('');
    }
    const object = Object.fromEntries(
      Object.entries(schema.properties ?? {}).map(([name, { type, enum: values, default: value }]) => {
        if (values !== undefined) return [name, random.pick(values)];
        if (Array.isArray(type))
          return [name, name.endsWith('_id') ? this.value({ in: '', name, schema: {} }, tenant) : null];
        return [name, value ?? (type === 'string' ? `${marker} a text of several words` : type === 'integer' ? 1 : {})];
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
