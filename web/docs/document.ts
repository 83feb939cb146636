/** The parts of an OpenAPI document that this page reads. */
export type Schema = {
  /** That of the reference in its place. */
  name?: string;
  type?: string | string[];
  format?: string;
  title?: string;
  description?: string;
  enum?: unknown[];
  default?: unknown;
  anyOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
};
export type Content = Record<string, { schema: Schema; example?: unknown }>;
export type Parameter = {
  name: string;
  in: 'path' | 'query' | 'header';
  required?: boolean;
  description: string;
  schema: Schema;
  example?: unknown;
};
export type ResponseDescription = {
  description: string;
  content?: Content;
  headers?: Record<string, { description: string }>;
};
type Described = {
  operationId: string;
  summary: string;
  description?: string;
  tags?: string[];
  security?: Record<string, unknown>[];
  parameters?: Parameter[];
  requestBody?: { content: Content };
  responses: Record<string, ResponseDescription>;
};
export type Document = {
  info: { version: string; description: string; 'x-backscroll-version': string };
  'x-errors': { status: number; code: string; when: string }[];
  /** Each kind of record, with an example. */
  'x-records': { kind: string; schema: Schema; example: unknown }[];
  paths: Record<string, Record<string, Described>>;
  components: { securitySchemes: Record<string, { description: string }> };
};

/** A document with what its references name in their places. */
export function resolved(document: Document): Document {
  const inPlace = (part: unknown): unknown => {
    if (typeof part !== 'object' || part === null) return part;
    if (Array.isArray(part)) return part.map(inPlace);
    if (!('$ref' in part)) return Object.fromEntries(Object.entries(part).map(([name, one]) => [name, inPlace(one)]));
    const [, ...keys] = `${part.$ref}`.split('/');
    const named = keys.reduce((at: object, key) => Reflect.get(at, key), document);
    return { ...Object(inPlace(named)), name: keys.at(-1) };
  };
  return inPlace(document) as Document;
}

/** One operation, with its most used properties. */
export type Operation = Described & {
  method: string;
  path: string;
  parameters: Parameter[];
  /** The kinds of key that allow it. */
  kinds: string[];
  allowsSession: boolean;
  body: { type: string; schema: Schema; example: unknown } | undefined;
};

export type Group = { tag: string; operations: Operation[] };

const methods = ['get', 'post', 'put', 'patch', 'delete'];

export function operationsOf(document: Document): Operation[] {
  return Object.entries(document.paths).flatMap(([path, described]) =>
    Object.entries(described)
      .filter(([method]) => methods.includes(method))
      .map(([method, operation]): Operation => {
        const [content] = Object.entries(operation.requestBody?.content ?? {});
        const schemes = (operation.security ?? []).flatMap(Object.keys);
        return {
          ...operation,
          path,
          method: method.toUpperCase(),
          parameters: operation.parameters ?? [],
          kinds: schemes.filter((name) => name.endsWith('Key')).map((name) => name.replace(/Key$/, '')),
          allowsSession: schemes.includes('consoleSession'),
          body: content && { type: content[0], schema: content[1].schema, example: content[1].example },
        };
      }),
  );
}

/** The groups of operations for administrators, by the beginning of their paths. */
const adminGroups: readonly [string, RegExp][] = [
  ['Admin: knowledge', /^\/admin\/datasets/],
  ['Admin: records', /^\/admin\/(records|changes)/],
  ['Admin: keys and sessions', /^\/(admin\/(keys|activity)|console)/],
  ['Admin: conversations and usage', /^\/admin\/(apps|conversations|search|overview|usage|failures)/],
  ['Admin: service', /^/],
];

function tagOf({ path, tags }: Operation): string {
  const tag = tags?.[0] ?? 'Other';
  return tag === 'Admin' ? (adminGroups.find(([, paths]) => paths.test(path))?.[0] ?? tag) : tag;
}

/** The public API first, else groups and operations in the order of the document. */
export function groupsOf(operations: readonly Operation[]): Group[] {
  const rank = ({ tag, operations }: Group) =>
    tag.startsWith('Admin') ? 2 : operations.some(({ path }) => path.startsWith('/v1/')) ? 0 : 1;
  return [...Map.groupBy(operations, tagOf)]
    .map(([tag, operations]) => ({ tag, operations }))
    .sort((a, b) => rank(a) - rank(b));
}

/** The texts by which the filter finds an operation: with the names, descriptions and values of what it sends. */
export function textsOf({ tags = [], parameters, body, ...operation }: Operation): string {
  const { method, path, summary, description, operationId } = operation;
  const sent = [...parameters.map((one) => ({ ...one.schema, title: `${one.name} ${one.description}` })), body?.schema];
  return [method, path, summary, description, operationId, ...tags, ...sent.map(wordsOf)].join(' ');
}

function wordsOf(schema: Schema | undefined): string {
  if (schema === undefined) return '';
  const { title, description, enum: values = [], properties = {} } = withoutNull(schema).schema;
  const fields = Object.entries(properties).map(([name, field]) => `${name} ${wordsOf(field)}`);
  return [title, description, ...values, ...fields].join(' ');
}

/** What a value is besides null, and whether it may be null. */
export function withoutNull(schema: Schema): { schema: Schema; nullable: boolean } {
  const { anyOf = [], ...own } = schema;
  const [inner, another] = anyOf.filter(({ type }) => type !== 'null');
  if (inner !== undefined && another === undefined) return { schema: { ...inner, ...own }, nullable: true };
  if (!Array.isArray(schema.type)) return { schema, nullable: false };
  const types = schema.type.filter((type) => type !== 'null');
  return { schema: { ...schema, type: types }, nullable: types.length < schema.type.length };
}

/** The example of an operation's successful response. */
export function exampleOf({ responses }: Operation): { status: string; example: unknown } | undefined {
  for (const [status, { content }] of Object.entries(responses)) {
    const example = content?.['application/json']?.example;
    if (example !== undefined && status < '400') return { status, example };
  }
  return undefined;
}
