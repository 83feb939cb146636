import { readFileSync, writeFileSync } from 'node:fs';

/** `npm run types` generates src/types.ts from openapi.json; a test compares them. */

type Schema = {
  $ref?: string;
  anyOf?: Schema[];
  type?: string | string[];
  enum?: (string | null)[];
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
  description?: string;
  title?: string;
  const?: string;
  default?: unknown;
};
type Parameter = { in: string; name: string; required?: boolean; description?: string; schema: Schema };
type Content = { content?: Record<string, { schema: Schema }> };
type Operation = {
  operationId: string;
  summary: string;
  parameters?: Parameter[];
  requestBody?: Content;
  responses: Record<string, Content>;
};
type Openapi = {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema>; responses: Record<string, Content> };
  'x-records': { kind: string; schema: Schema }[];
};

const lineMax = 120;
const primitives: Record<string, string> = {
  string: 'string',
  integer: 'number',
  number: 'number',
  boolean: 'boolean',
};

/** A type `Error` would hide the global `Error`. */
const nameOf = (name: string): string => (name === 'Error' ? 'ErrorResponse' : name);
const refName = (ref: string): string => ref.slice(ref.lastIndexOf('/') + 1);

/** The paths of the SDK's operations. */
const sdkPaths = [
  '/v1/',
  '/admin/changes',
  '/admin/purge',
  '/admin/users',
  '/admin/records',
  '/admin/apps/{app_id}/conversations/{conversation_id}/messages/{message_id}',
];

function operationsUnder({ paths }: Openapi, starts: readonly string[]): Operation[] {
  return Object.entries(paths)
    .filter(([path]) => starts.some((start) => path.startsWith(start)))
    .flatMap(([, methods]) => Object.values(methods));
}

const firstLine = '// Written by `npm run types` from openapi.json.\n';

/** The types of the SDK: the parameters of its operations, their responses, and the records of the change feed. */
export function renderTypes(document: Openapi): string {
  const operations = operationsUnder(document, sdkPaths);
  const requestTypes = operations.flatMap((operation) => [
    ...renderParameters(operation, 'Path'),
    ...renderParameters(operation, 'Query'),
  ]);
  const { Change: change = fail('there is no schema Change'), ...others } = document.components.schemas;
  const kinds = (change.properties?.kind?.enum ?? []).map(String);
  const recordTypes = kinds.map((kind) => renderRecord(document, kind));
  const responseTypes = renderSchemas(others, reach(document, operations));
  return [firstLine, ...requestTypes, ...responseTypes, renderChange(change, kinds), ...recordTypes].join('\n');
}

function renderSchemas(schemas: Record<string, Schema>, chosen: ReadonlySet<string>): string[] {
  return Object.entries(schemas)
    .filter(([name]) => chosen.has(name))
    .map(([name, schema]) => renderNamed(nameOf(name), schema));
}

const renderNamed = (name: string, schema: Schema): string =>
  `${comment(schema.description, '')}export type ${name} = ${render(schema, '')};\n`;

/** `child_chunk` is the record `ChildChunkRecord`. */
const recordName = (kind: string): string =>
  `${kind.replaceAll(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase())}Record`;

/** A record as the feed has it: complete, unlike one that is imported. The objects in it are those of responses. */
function renderRecord(document: Openapi, kind: string): string {
  const { schema } = document['x-records'].find((one) => one.kind === kind) ?? fail(`no record ${kind}`);
  const complete = (one: Schema): Schema => {
    if (one.title !== undefined && one.title in document.components.schemas) return { $ref: one.title };
    if (one.items !== undefined) return { ...one, items: complete(one.items) };
    if (one.anyOf !== undefined) return { ...one, anyOf: one.anyOf.map(complete) };
    return one;
  };
  const fields = Object.entries(schema.properties ?? {}).map(([name, field]) => [name, complete(field)] as const);
  const properties = Object.fromEntries(fields);
  const description = `A record of kind \`${kind}\` in the change feed.`;
  return renderNamed(recordName(kind), { ...schema, description, properties, required: Object.keys(properties) });
}

/** A union by \`kind\`, so that a change of a known kind has the fields of its record. */
function renderChange(change: Schema, kinds: readonly string[]): string {
  const members = kinds.map((kind) => `  | ChangedRecord<'${kind}', ${recordName(kind)}>`);
  const { kind, record, ...properties } = change.properties ?? {};
  const generic = renderNamed('ChangedRecord', { ...change, properties })
    .replace('ChangedRecord', 'ChangedRecord<Kind, Fields>')
    .replace(
      /\};\n$/,
      `${comment(kind?.description, '  ')}  kind: Kind;\n${comment(record?.description, '  ')}  record: Fields | null;\n};\n`,
    );
  return `${generic}\n/** A changed record. Its \`kind\` decides the type of its \`record\`. */\nexport type Change =\n${members.join('\n')};\n`;
}

/** Names of the schemas that these operations use. */
function reach({ components }: Openapi, operations: readonly Operation[]): Set<string> {
  const reached = new Set<string>();
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return;
    for (const [key, value] of Object.entries(node)) {
      if (key !== '$ref') visit(value);
      else if (value.startsWith('#/components/responses/')) visit(components.responses[refName(value)]);
      else if (value.startsWith('#/components/schemas/') && !reached.has(refName(value))) {
        reached.add(refName(value));
        visit(components.schemas[refName(value)]);
      }
    }
  };
  visit(operations);
  return reached;
}

function renderParameters({ operationId, summary, parameters = [] }: Operation, kind: 'Path' | 'Query'): string[] {
  const chosen = parameters.filter((parameter) => parameter.in === kind.toLowerCase());
  if (chosen.length === 0) return [];
  const schema: Schema = {
    type: 'object',
    required: chosen.filter(({ required }) => required).map(({ name }) => name),
    properties: Object.fromEntries(
      chosen.map(({ name, description = '', schema }) => [name, { ...schema, description }]),
    ),
  };
  const name = `${operationId[0]?.toUpperCase()}${operationId.slice(1)}${kind}`;
  return [`/** ${summary}: ${kind.toLowerCase()}. */\nexport type ${name} = ${render(schema, '')};\n`];
}

function comment(text: string | undefined, indent: string): string {
  return text === undefined ? '' : `${indent}/** ${text} */\n`;
}

function render(schema: Schema, indent: string): string {
  if (schema.$ref !== undefined) return nameOf(refName(schema.$ref));
  if (schema.anyOf !== undefined) return schema.anyOf.map((one) => render(one, indent)).join(' | ');
  if (schema.enum !== undefined)
    return schema.enum.map((value) => (value === null ? 'null' : `'${value}'`)).join(' | ');
  if (schema.const !== undefined) return `'${schema.const}'`;
  const types = [schema.type ?? []].flat();
  // Any value is accepted for such a field, and ignored.
  if (types.length === 0) return typeof schema.default === 'number' ? 'number' : 'unknown';
  return types.map((type) => renderType(type, schema, indent)).join(' | ');
}

function renderType(type: string, schema: Schema, indent: string): string {
  if (type === 'null') return 'null';
  if (type === 'array') return renderArray(render(schema.items ?? {}, indent));
  if (type !== 'object') return primitives[type] ?? fail(`a type that has no rendering: ${type}`);
  if (schema.properties === undefined) {
    const values =
      typeof schema.additionalProperties === 'object' ? render(schema.additionalProperties, indent) : 'unknown';
    return `Record<string, ${values}>`;
  }
  const fields = Object.entries(schema.properties).map(([name, field]) => {
    const required = schema.required?.includes(name) === true;
    const type = `${render(field, `${indent}  `)}${required ? '' : ' | undefined'}`;
    const head = `${indent}  ${name}${required ? '' : '?'}:`;
    return `${comment(field.description, `${indent}  `)}${broken(head, type)};\n`;
  });
  return `{\n${fields.join('')}${indent}}`;
}

const renderArray = (item: string): string => (/^[^{]* \| /.test(item) ? `(${item})[]` : `${item}[]`);

/** A union too long for one line, or with an object, has one member per line, as the formatter requires. */
function broken(head: string, type: string): string {
  const indent = `${/^ */.exec(head)?.[0]}  `;
  const [, object] = /^(\{\n.*\}) \| undefined$/s.exec(type) ?? [];
  if (object !== undefined) return `${head}\n${indent}| ${object.replaceAll('\n', '\n    ')}\n${indent}| undefined`;
  if (type.includes('\n') || `${head} ${type};`.length <= lineMax) return `${head} ${type}`;
  return [head, ...type.split(' | ').map((member) => `${indent}| ${member}`)].join('\n');
}

function fail(message: string): never {
  throw new Error(message);
}

export const readDocument = (): Openapi =>
  JSON.parse(readFileSync(new URL('../../openapi.json', import.meta.url), 'utf8'));
export const typesPath = new URL('../src/types.ts', import.meta.url);

if (import.meta.main) writeFileSync(typesPath, renderTypes(readDocument()));
