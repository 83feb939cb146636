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

/** The paths of the SDK's operations, and of the console's, which uses these types too. */
export const sdkPaths = ['/v1/', '/admin/changes'];
const allPaths = [...sdkPaths, '/admin/', '/console/'];

function operationsUnder({ paths }: Openapi, starts: readonly string[]): Operation[] {
  return Object.entries(paths)
    .filter(([path]) => starts.some((start) => path.startsWith(start)))
    .flatMap(([, methods]) => Object.values(methods));
}

/** All types: the parameters of the SDK's operations, then the responses of all operations. */
export function renderTypes(document: Openapi, starts: readonly string[] = allPaths): string {
  const requestTypes = operationsUnder(document, sdkPaths).flatMap((operation) => [
    ...renderParameters(operation, 'Path'),
    ...renderParameters(operation, 'Query'),
  ]);
  const reached = reach(document, operationsUnder(document, starts));
  const responseTypes = Object.entries(document.components.schemas)
    .filter(([name]) => reached.has(name))
    .map(
      ([name, schema]) => `${comment(schema.description, '')}export type ${nameOf(name)} = ${render(schema, '')};\n`,
    );
  return ['// Written by `npm run types` from openapi.json.\n', ...requestTypes, ...responseTypes].join('\n');
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
  const types = [schema.type ?? []].flat();
  if (types.length === 0) return 'unknown';
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

if (import.meta.main) writeFileSync(new URL('../src/types.ts', import.meta.url), renderTypes(readDocument()));
