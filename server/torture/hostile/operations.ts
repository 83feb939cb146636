import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { openapiFile } from '../../test/support/openapi-check.ts';
import type { Random } from '../support/random.ts';
import { adminKinds, bendRecords, sampleRecord, writerKinds } from './records.ts';
import type { Header, Plain } from './shot.ts';
import { bendJson, breakJson, oddParts, oddQueries } from './values.ts';
import type { HostileTenant, HostileWorld } from './world.ts';

type Schema = { type?: string | string[]; enum?: string[]; properties?: Record<string, Schema>; default?: unknown };
type Parameter = { in: string; name: string; schema: Schema };
export type Operation = {
  method: string;
  path: string;
  /** Schemes, one of which it takes; none where it can do without. */
  security: string[];
  parameters: Parameter[];
  /** The content type of the body, and its schema. */
  body: [type: string, schema: Schema] | undefined;
};

type Described = {
  security?: Record<string, unknown>[];
  parameters?: Parameter[];
  requestBody?: { content: Record<string, { schema: Schema }> };
};

/** Every operation of the OpenAPI document, so that a new one is covered by itself. */
export const operations: readonly Operation[] = Object.entries(
  (JSON.parse(readFileSync(openapiFile, 'utf8')) as { paths: Record<string, Record<string, Described>> }).paths,
).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, { security = [], parameters = [], requestBody }]) => {
    const [body] = Object.entries(requestBody?.content ?? {});
    const schemes = security.map((one) => Object.keys(one));
    return {
      method: method.toUpperCase(),
      path,
      security: schemes.some(({ length }) => length === 0) ? [] : schemes.flat(),
      parameters,
      body: body && ([body[0], body[1].schema] as [string, Schema]),
    };
  }),
);

/** Makes requests for operations: valid ones, and ones that are nearly so. */
export class OperationRequests {
  readonly #random: Random;
  readonly #world: HostileWorld;

  constructor(random: Random, world: HostileWorld) {
    this.#random = random;
    this.#world = world;
  }

  /** Exports grow with what is taken in, so they are asked for seldom. */
  pick(): Operation {
    const operation = this.#random.pick(operations);
    const isExport = operation.method === 'GET' && operation.path === '/admin/records';
    return isExport && !this.#random.chance(0.02) ? this.pick() : operation;
  }

  /** A key of the kind that a security scheme names. */
  key(scheme: string | undefined, tenant: HostileTenant): string {
    const { admin, busy } = this.#world;
    const kind = scheme?.replace(/Key$/, '') ?? '';
    // Where a session opens, an admin key does too, but for asking about the session itself.
    if (kind === 'admin' || kind === 'consoleSession') return admin;
    return tenant.keys[kind as keyof HostileTenant['keys']] ?? busy.keys.app;
  }

  /** What this tenant has to say for a parameter. */
  value({ name, schema }: Parameter, tenant: HostileTenant): string {
    const { ids, messages } = tenant;
    const known: Record<string, string | undefined> = {
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
    return known[name] ?? (name.endsWith('id') ? randomUUID() : 'x');
  }

  /** A request whose every part is valid, but for the parts that `bend` names. Writes go to the busy tenant. */
  make(operation: Operation, bend: 'none' | 'path' | 'query' | 'header' | 'body' | 'owner', mark: string): Plain {
    const random = this.#random;
    const { busy, calm } = this.#world;
    const tenant = operation.method === 'GET' && random.chance(0.5) ? calm : busy;
    const scheme = operation.security.length > 0 ? random.pick(operation.security) : undefined;
    // An admin may write anywhere, and must not write to the calm tenant.
    const mayWrite = operation.method !== 'GET' && this.key(scheme, tenant) === this.#world.admin;
    // A foreign owner: the key of one tenant, what it asks for of the other.
    const asked = bend === 'owner' && !mayWrite ? (tenant === busy ? calm : busy) : tenant;
    const headers: Header[] = scheme === undefined ? [] : [['authorization', `Bearer ${this.key(scheme, tenant)}`]];
    const inPath = operation.parameters.filter((one) => one.in === 'path');
    const bent = bend === 'path' && inPath.length > 0 ? random.pick(inPath) : undefined;
    let target = operation.path;
    for (const parameter of inPath) {
      const value = parameter === bent ? random.pick(oddParts) : this.value(parameter, asked);
      target = target.replace(`{${parameter.name}}`, () => value);
    }
    target += this.#query(operation, bend === 'query', asked);
    for (const { in: where, name } of operation.parameters) {
      if (where === 'header' && (bend === 'header' || random.chance(0.1))) headers.push([name, this.#tags()]);
    }
    if (operation.body === undefined) return { method: operation.method, target, headers };
    headers.push(['content-type', operation.body[0]]);
    const body = this.#body(operation.body, scheme, bend, asked, mark);
    return { method: operation.method, target, headers, body };
  }

  #query({ parameters }: Operation, isBent: boolean, tenant: HostileTenant): string {
    const random = this.#random;
    const given = parameters.filter(
      (one) => one.in === 'query' && (one.name === 'conversation_id' || random.chance(0.4)),
    );
    const pairs = given.map((one) => `${one.name}=${this.value(one, tenant)}`);
    if (!isBent) return pairs.length > 0 ? `?${pairs.join('&')}` : '';
    if (pairs.length === 0 || random.chance(0.3)) return `?${[...pairs, random.pick(oddQueries)].join('&')}`;
    const at = random.below(pairs.length);
    const name = given[at]?.name;
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
    bend: string,
    tenant: HostileTenant,
    mark: string,
  ): Buffer | string {
    const random = this.#random;
    if (type === 'application/x-ndjson') {
      // An admin may write anywhere, and must not write to the calm tenant.
      const [kinds, owner] = scheme === 'adminKey' ? [adminKinds, this.#world.busy] : [writerKinds, tenant];
      const lines = Array.from({ length: 1 + random.below(4) }, () => sampleRecord(random, kinds, owner, mark));
      return bend === 'body' ? bendRecords(random, lines) : lines.map((line) => `${JSON.stringify(line)}\n`).join('');
    }
    const object = Object.fromEntries(
      Object.entries(schema.properties ?? {}).map(([name, { type, enum: values, default: value }]) => {
        if (values !== undefined) return [name, random.pick(values)];
        if (Array.isArray(type))
          return [name, name.endsWith('_id') ? this.value({ in: '', name, schema: {} }, tenant) : null];
        return [name, value ?? (type === 'string' ? `${mark} a text of some words` : type === 'integer' ? 1 : {})];
      }),
    );
    if (bend !== 'body') return JSON.stringify(object);
    return random.weighted<() => Buffer | string>([
      [6, () => bendJson(random, object)],
      [4, () => breakJson(random, JSON.stringify(object))],
      [1, () => JSON.stringify({ ...object, content: `${mark}${'x'.repeat(100_001)}` })],
      [0.1, () => JSON.stringify({ ...object, content: `${mark}${'x'.repeat(1_048_600)}` })],
      [0.02, () => JSON.stringify({ ...object, content: `${mark}${'x'.repeat(4_000_000)}` })],
    ])();
  }
}
