import { orElse } from '../../shared/or-else.ts';
import type { Operation } from '../document.ts';
import { type Filled, headersOf, opening, returnsJson, targetOf } from './snippets.ts';

/** The request in Python, with its standard library. */
export function pythonOf(operation: Operation, filled: Filled, base: string): string {
  const { method } = operation;
  const open = opening(operation);
  const headers = [
    ...(open === undefined ? [] : [`"${open.header}": f"${open.before}{os.environ['${open.variable}']}"`]),
    ...headersOf(operation, filled).map(([name, value]) => `${text(name)}: ${text(value)}`),
  ];
  const body = filled.body === '' ? undefined : bodyOf(filled.body);
  const options = [
    text(base + targetOf(operation, filled)),
    ...(method === 'GET' ? [] : [`method=${text(method)}`]),
    ...(headers.length === 0 ? [] : [`headers={${headers.join(', ')}}`]),
    ...(body === undefined ? [] : [`data=${body}.encode()`]),
  ];
  const isJson = returnsJson(operation);
  const modules = [
    ...(isJson || body?.startsWith('json.') ? ['import json'] : []),
    ...(open === undefined ? [] : ['import os']),
  ];
  return `${modules.map((line) => `${line}\n`).join('')}from urllib.request import Request, urlopen

request = Request(
${options.map((option) => `    ${option},\n`).join('')})
with urlopen(request) as response:
    print(${isJson ? 'json.load(response)' : 'response.read().decode()'})
`;
}

/** A JSON text is also a string of Python. */
const text = (value: string): string => JSON.stringify(value);

/** JSON becomes a dictionary; lines of records become a string. */
function bodyOf(body: string): string {
  const lines = body.split('\n').map((line) => `\n        ${text(line)},`);
  return orElse(() => `json.dumps(${literal(JSON.parse(body), '    ')})`, `"\\n".join([${lines.join('')}\n    ])`);
}

function literal(value: unknown, indent: string): string {
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (typeof value !== 'object') return JSON.stringify(value);
  const inner = `${indent}    `;
  const items = Array.isArray(value)
    ? value.map((item) => literal(item, inner))
    : Object.entries(value).map(([name, item]) => `${text(name)}: ${literal(item, inner)}`);
  const [open, close] = Array.isArray(value) ? '[]' : '{}';
  if (items.length === 0) return `${open}${close}`;
  return `${open}\n${items.map((item) => `${inner}${item},\n`).join('')}${indent}${close}`;
}
