import { orElse } from '../../shared/or-else.ts';
import type { Operation } from '../document.ts';

/** The values of a request: one text for each parameter, and the body. */
export type Filled = { values: Record<string, string>; body: string };

/** The values of the example. */
export function exampleRequest({ parameters, body }: Operation): Filled {
  const withExample = parameters.filter(({ example }) => example !== undefined);
  return {
    values: Object.fromEntries(withExample.map(({ name, example }) => [name, String(example)])),
    body: textOf(body?.example),
  };
}

function textOf(example: unknown): string {
  if (typeof example === 'string') return example;
  return example === undefined ? '' : JSON.stringify(example, null, 2);
}

/** The path with its parameters, and the query. A parameter without a value shows its name. */
export function targetOf({ path, parameters }: Operation, { values }: Filled): string {
  const filled = path.replace(/\{(\w+)\}/g, (whole, name) => (values[name] ? encodeURIComponent(values[name]) : whole));
  const query = new URLSearchParams(
    parameters
      .filter(({ name, in: place }) => place === 'query' && values[name])
      .map(({ name }) => [name, values[name] ?? '']),
  ).toString();
  return query === '' ? filled : `${filled}?${query}`;
}

/** The headers of the request besides the key. */
export function headersOf(operation: Operation, filled: Filled): [string, string][] {
  const { parameters, body } = operation;
  const headerParameters = parameters.filter(({ name, in: place }) => place === 'header' && filled.values[name]);
  return [
    ...(isBySession(operation) ? [['Backscroll-Console', '1'] as [string, string]] : []),
    ...(body !== undefined && filled.body !== '' ? [['Content-Type', body.type] as [string, string]] : []),
    ...headerParameters.map(({ name }): [string, string] => [spell(name), filled.values[name] ?? '']),
  ];
}

/** `if-match` is written `If-Match`. */
const spell = (name: string): string => name.replace(/(?<![a-z])[a-z]/g, (letter) => letter.toUpperCase());

/** Operations without keys that require a console session. */
export const isBySession = ({ kinds, allowsSession }: Operation): boolean => allowsSession && kinds.length === 0;

/** The header with the key. Snippets are stored and shared, so they have variables instead of secrets. */
export function opening(operation: Operation): { header: string; before: string; variable: string } | undefined {
  const { kinds } = operation;
  if (kinds[0]) return { header: 'Authorization', before: 'Bearer ', variable: `${kinds[0].toUpperCase()}_KEY` };
  if (isBySession(operation)) return { header: 'Cookie', before: 'backscroll_session=', variable: 'CONSOLE_SESSION' };
  return undefined;
}

const shellText = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

export function curlOf(operation: Operation, filled: Filled, base: string): string {
  const { method } = operation;
  const open = opening(operation);
  const plain = method === 'GET' || (method === 'POST' && filled.body !== '');
  const parts = [
    `curl -sS ${plain ? '' : `-X ${method} `}${shellText(base + targetOf(operation, filled))}`,
    ...(open === undefined ? [] : [`-H "${open.header}: ${open.before}$${open.variable}"`]),
    ...headersOf(operation, filled).map(([name, value]) => `-H ${shellText(`${name}: ${value}`)}`),
    ...(filled.body === '' ? [] : [`--data-raw ${shellText(filled.body)}`]),
  ];
  return parts.join(' \\\n  ');
}

/** A text as a JavaScript string in single quotes. */
const jsText = (text: string): string =>
  `'${JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`;

const fields = (lines: string[]): string => `{\n${lines.map((line) => `  ${line},\n`).join('')}}`;
const filledFields = ({ parameters }: Operation, { values }: Filled): string[] =>
  parameters
    .filter(({ name, in: place }) => place !== 'header' && values[name])
    .map(({ name, schema }) => {
      const value = values[name] ?? '';
      return `${name}: ${schema.type === 'integer' && /^\d{1,15}$/.test(value) ? Number(value) : jsText(value)}`;
    });

type Call = (parameters: string[], filled: Filled) => [result: string, call: string];

/** The operations that the SDK covers: the name of the result, and the call of the method. */
const sdk: Record<string, Call> = {
  getConversationHistory: (parameters) => ['page', `listMessages(${fields(parameters)})`],
  getChildChunk: (parameters) => ['chunk', `getChildChunk(${fields(parameters)})`],
  updateChildChunk: (parameters, { values, body }) => {
    const tag = values['if-match'];
    const edit = fields([...parameters, `content: ${jsText(contentOf(body))}`]);
    return ['chunk', `updateChildChunk(${edit}${tag ? `, { ifMatch: ${jsText(tag)} }` : ''})`];
  },
  getAvailableModels: (_parameters, { values }) => ['providers', `listModels(${jsText(values.model_type ?? '')})`],
};

const contentOf = (body: string): string => orElse(() => String(JSON.parse(body).content ?? ''), '');

export function typescriptOf(operation: Operation, filled: Filled, base: string): string {
  const covered = sdk[operation.operationId];
  if (covered === undefined) return fetchOf(operation, filled, base);
  const [result, call] = covered(filledFields(operation, filled), filled);
  return `import { Backscroll } from 'backscroll-client';

const backscroll = new Backscroll({
  baseUrl: ${jsText(`${base}/v1`)},
  key: process.env.${opening(operation)?.variable} ?? '',
});
const ${result} = await backscroll.${call};
console.log(${result});
`;
}

export const returnsJson = ({ responses }: Operation): boolean =>
  Object.entries(responses).some(([status, { content }]) => status < '300' && content?.['application/json']);

function fetchOf(operation: Operation, filled: Filled, base: string): string {
  const { method } = operation;
  const open = opening(operation);
  const headers = [
    ...(open === undefined ? [] : [`${open.header}: \`${open.before}\${process.env.${open.variable}}\``]),
    ...headersOf(operation, filled).map(([name, value]) => `${jsText(name)}: ${jsText(value)}`),
  ];
  const options = [
    ...(method === 'GET' ? [] : [`method: ${jsText(method)}`]),
    ...(headers.length === 0 ? [] : [`headers: { ${headers.join(', ')} }`]),
    ...(filled.body === '' ? [] : [`body: ${bodyText(filled.body)}`]),
  ];
  const url = jsText(base + targetOf(operation, filled));
  return `const response = await fetch(${url}${options.length === 0 ? '' : `, ${fields(options)}`});
if (!response.ok) throw new Error(\`\${response.status} \${await response.text()}\`);
console.log(await response.${returnsJson(operation) ? 'json' : 'text'}());
`;
}

/** JSON becomes an object; lines of records become a string. */
function bodyText(body: string): string {
  const lines = body.split('\n').map((line) => `\n    ${jsText(line)},`);
  const json = () => `JSON.stringify(${JSON.stringify(JSON.parse(body), null, 2).replaceAll('\n', '\n  ')})`;
  return orElse(json, `[${lines.join('')}\n  ].join('\\n')`);
}
