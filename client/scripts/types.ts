import { readdirSync, readFileSync, writeFileSync } from 'node:fs';

/** Generates src/types.ts from openapi.json: by `npm ci`, `npm run check` and `npm run openapi`. */

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

const primitives: Record<string, string> = {
  string: 'string',
  integer: 'number',
  number: 'number',
  boolean: 'boolean',
};

/** A type `Error` would hide the global `Error`. */
const nameOf = (name: string): string => (name === 'Error' ? 'ErrorResponse' : name);
const refName = (ref: string): string => ref.slice(ref.lastIndexOf('/') + 1);

const firstLine = '// Generated from openapi.json by `npm run types`; not in the repository.\n';

/** Of the queries of operations, the responses and the records of the change feed: the types that the client uses. */
export function renderTypes(document: Openapi, used: readonly string[]): string {
  const { Change: change = fail('there is no schema Change'), ...schemas } = document.components.schemas;
  const kinds = (change.properties?.kind?.enum ?? []).map(String);
  const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods));
  const types = new Map<string, string>([
    ...operations.map((operation): [string, string] => [queryName(operation), renderQuery(operation)]),
    ...Object.entries(schemas).map(([name, schema]): [string, string] => [
      nameOf(name),
      renderNamed(nameOf(name), schema),
    ]),
    ['ChangedRecord', renderChangedRecord(change)],
    ['Change', renderChange(kinds)],
    ...kinds.map((kind): [string, string] => [recordName(kind), renderRecord(document, kind)]),
  ]);
  const chosen = reach(types, used);
  return [firstLine, ...[...types].flatMap(([name, type]) => (chosen.has(name) ? [type] : []))].join('\n');
}

/** The types with these names, and those that they use. */
function reach(types: ReadonlyMap<string, string>, names: readonly string[]): Set<string> {
  const reached = new Set<string>();
  const visit = (name: string): void => {
    const type = types.get(name);
    if (type === undefined || reached.has(name)) return;
    reached.add(name);
    type
      .replaceAll(/\/\*\*.*\*\//g, '')
      .match(/\b[A-Z]\w+/g)
      ?.forEach(visit);
  };
  names.forEach(visit);
  return reached;
}

/** The names that the other files of the client import from src/types.ts, or use as `types.Name`. */
export const usedTypes = (texts: readonly string[]): string[] =>
  texts.flatMap((text) => [
    ...[...text.matchAll(/^import type \{([^}]*)\} from '\.\/types\.ts';/gm)].flatMap(
      ([, names]) => names?.match(/\w+/g) ?? [],
    ),
    ...[...text.matchAll(/\btypes\.([A-Z]\w+)/g)].map(([, name = '']) => name),
  ]);

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
  const properties = Object.fromEntries(
    Object.entries(schema.properties ?? {}).map(([name, field]) => [name, complete(field)]),
  );
  const description = `A record of kind \`${kind}\` in the change feed.`;
  const whole = { ...schema, description, properties, required: Object.keys(properties) };
  const [base, response] = responseIn(document, whole) ?? [];
  if (base === undefined || response === undefined) return renderNamed(recordName(kind), whole);
  const own = Object.fromEntries(Object.entries(properties).filter(([name]) => response[name] === undefined));
  const type = renderNamed(recordName(kind), { ...whole, properties: own });
  return type.replace(' = {', ` = ${base} & {`);
}

/** The response whose fields the record has all, with the same types: of a message, and of a child chunk. */
function responseIn({ components }: Openapi, record: Schema): [string, Record<string, Schema>] | undefined {
  const found = Object.entries(components.schemas).find(
    ([, { properties = {} }]) =>
      Object.keys(properties).length >= responseFieldsMin &&
      Object.entries(properties).every(([name, field]) => {
        const own = record.properties?.[name];
        return own !== undefined && render(own, '') === render(field, '');
      }),
  );
  return found && [found[0], found[1].properties ?? {}];
}

const responseFieldsMin = 8;

function renderChangedRecord({ properties: { kind, record, ...properties } = {}, ...change }: Schema): string {
  return renderNamed('ChangedRecord', { ...change, properties })
    .replace('ChangedRecord', 'ChangedRecord<Kind, Fields>')
    .replace(
      /\};\n$/,
      `${comment(kind?.description, '  ')}  kind: Kind;\n${comment(record?.description, '  ')}  record: Fields | null;\n};\n`,
    );
}

/** A union by `kind`, so that a change of a known kind has the fields of its record. */
function renderChange(kinds: readonly string[]): string {
  const members = kinds.map((kind) => `  | ChangedRecord<'${kind}', ${recordName(kind)}>`);
  return `/** A changed record. Its \`kind\` decides the type of its \`record\`. */\nexport type Change =\n${members.join('\n')};\n`;
}

const queryName = ({ operationId }: Operation): string =>
  `${operationId[0]?.toUpperCase()}${operationId.slice(1)}Query`;

/** Without parameters that the service ignores. */
function renderQuery(operation: Operation): string {
  const chosen = (operation.parameters ?? []).filter(
    ({ in: place, description }) =>
      place === 'query' && !/^Accepted and ignored|It has no effect/.test(description ?? ''),
  );
  return renderNamed(queryName(operation), {
    type: 'object',
    description: `${operation.summary}: query.`,
    required: chosen.filter(({ required }) => required).map(({ name }) => name),
    properties: Object.fromEntries(
      chosen.map(({ name, description = '', schema }) => [name, { ...schema, description }]),
    ),
  });
}

/** Whether a description, such as "Embedding model.", says no more than the name of its field. */
const repeats = (description: string | undefined, name: string): boolean =>
  description?.toLowerCase().replace(/\.$/, '').replaceAll(/[ -]/g, '_') === name;

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
    const description = repeats(field.description, name) ? undefined : field.description;
    return `${comment(description, `${indent}  `)}${head} ${type};\n`;
  });
  return `{\n${fields.join('')}${indent}}`;
}

const renderArray = (item: string): string => (/^[^{]* \| /.test(item) ? `(${item})[]` : `${item}[]`);

function fail(message: string): never {
  throw new Error(message);
}

const read = (path: string): string => readFileSync(new URL(path, import.meta.url), 'utf8');

/** The text of src/types.ts. */
export function readTypes(): string {
  const files = readdirSync(new URL('../src', import.meta.url));
  return renderTypes(JSON.parse(read('../../openapi.json')), usedTypes(files.map((name) => read(`../src/${name}`))));
}

if (import.meta.main) writeFileSync(new URL('../src/types.ts', import.meta.url), readTypes());
