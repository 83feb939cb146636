/** The parts of an OpenAPI document that this page reads. */
export type Schema = {
  $ref?: string;
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
  headers?: Record<string, { $ref: string }>;
};
type Described = {
  operationId: string;
  summary: string;
  description?: string;
  tags?: string[];
  security?: Record<string, unknown>[];
  parameters?: Parameter[];
  requestBody?: { content: Content };
  responses: Record<string, ResponseDescription | { $ref: string }>;
};
export type Document = {
  info: { version: string; description: string; 'x-backscroll-version': string };
  'x-errors': { status: number; code: string; when: string }[];
  'x-records': RecordKind[];
  paths: Record<string, Record<string, Described>>;
  components: {
    schemas: Record<string, Schema>;
    responses: Record<string, ResponseDescription>;
    headers: Record<string, { description: string }>;
    securitySchemes: Record<string, { description: string }>;
  };
};

/** A kind of record, with an example. */
export type RecordKind = { kind: string; schema: Schema; example: unknown };

/** One operation, with its most used properties. */
export type Operation = Omit<Described, 'responses'> & {
  responses: Record<string, ResponseDescription>;
  method: string;
  path: string;
  parameters: Parameter[];
  /** The kinds of key that allow it. */
  kinds: string[];
  /** Whether a console session allows it. */
  allowsSession: boolean;
  /** The request body, if it has one. */
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
          responses: Object.fromEntries(
            Object.entries(operation.responses).map(([status, response]) => [
              status,
              '$ref' in response
                ? (document.components.responses[nameIn(response.$ref)] as ResponseDescription)
                : response,
            ]),
          ),
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
  const groups = new Map<string, Operation[]>();
  for (const operation of operations) {
    const tag = tagOf(operation);
    groups.set(tag, [...(groups.get(tag) ?? []), operation]);
  }
  const rank = ({ tag, operations }: Group) =>
    tag.startsWith('Admin') ? 2 : operations.some(({ path }) => path.startsWith('/v1/')) ? 0 : 1;
  return [...groups].map(([tag, operations]) => ({ tag, operations })).sort((a, b) => rank(a) - rank(b));
}

/** The texts by which the filter finds an operation: with the names, descriptions and values of what it sends. */
export function textsOf(document: Document, operation: Operation): string {
  const { method, path, summary, description, operationId, tags = [], parameters, body } = operation;
  const sent = [...parameters.map((one) => ({ ...one.schema, title: `${one.name} ${one.description}` })), body?.schema];
  return [method, path, summary, description, operationId, ...tags, ...sent.map((one) => wordsOf(document, one))].join(
    ' ',
  );
}

function wordsOf(document: Document, schema: Schema | undefined): string {
  if (schema === undefined) return '';
  const { schema: known } = resolve(document, schema);
  const fields = Object.entries(known.properties ?? {}).map(([name, field]) => `${name} ${wordsOf(document, field)}`);
  return [known.title, known.description, ...(known.enum ?? []), ...fields].join(' ');
}

export const nameIn = (ref: string): string => ref.slice(ref.lastIndexOf('/') + 1);

type ResolvedSchema = { schema: Schema; name: string | undefined; nullable: boolean };

/** A resolved schema: its type besides null, its name if it has one, and whether it may be null. */
export function resolve(document: Document, schema: Schema): ResolvedSchema {
  if (schema.$ref !== undefined) {
    const name = nameIn(schema.$ref);
    return { ...resolve(document, document.components.schemas[name] ?? {}), name };
  }
  const others = schema.anyOf?.filter(({ type }) => type !== 'null');
  if (schema.anyOf !== undefined && others?.length === 1 && others[0] !== undefined) {
    const inner = resolve(document, others[0]);
    const description = schema.description ?? inner.schema.description;
    const described = description === undefined ? inner.schema : { ...inner.schema, description };
    return { ...inner, schema: described, nullable: others.length < schema.anyOf.length };
  }
  if (!Array.isArray(schema.type)) return { schema, name: undefined, nullable: false };
  const types = schema.type.filter((type) => type !== 'null');
  const { type: _, ...rest } = schema;
  const [one] = types;
  return {
    schema: types.length === 1 && one !== undefined ? { ...rest, type: one } : { ...rest, type: types },
    name: undefined,
    nullable: types.length < schema.type.length,
  };
}

/** The example of an operation's successful response. */
export function exampleOf({ responses }: Operation): { status: string; example: unknown } | undefined {
  for (const [status, { content }] of Object.entries(responses)) {
    const example = content?.['application/json']?.example;
    if (example !== undefined && status < '400') return { status, example };
  }
  return undefined;
}
