import { loadStarter, type Secrets } from '../src/cli/starter.ts';
import type { Example, Examples } from '../src/http/openapi-examples.ts';
import { type ExampleRequest, exampleRequests } from './example-requests.ts';
import { type Service, startService } from './harness.ts';

type Operation = {
  operationId: string;
  parameters?: { name: string; in: string }[];
  requestBody?: { content: object };
};
export type Document = { paths: Record<string, Record<string, Operation>> };

/** A service as `npm start` makes it, its clock standing a little after the last starter message. */
export async function startStarter(): Promise<{ service: Service; secrets: Secrets }> {
  const service = await startService('sqlite');
  service.stopTime(starterTime * 1000);
  return { service, secrets: await loadStarter(service.store) };
}
const starterTime = 1_793_822_400;

/** Asks a fresh starter service for every example, and gives what it answered. */
export async function recordExamples(document: Document): Promise<Examples> {
  const begun = Math.floor(Date.now() / 1000);
  const { service, secrets } = await startStarter();
  try {
    const examples: Examples = {};
    for (const [id, request] of Object.entries(exampleRequests(secrets))) {
      const operation = operationOf(document, id);
      // A route that is not there yet is not asked.
      if (operation !== undefined) examples[id] = await record(service.base, operation, request, secrets);
    }
    return steady(examples, secrets, begun);
  } finally {
    await service.close();
  }
}

type Located = { path: string; method: string; operation: Operation };

export function operationOf({ paths }: Document, id: string): Located | undefined {
  for (const [path, methods] of Object.entries(paths)) {
    for (const [method, operation] of Object.entries(methods))
      if (operation.operationId === id) return { path, method: method.toUpperCase(), operation };
  }
  return undefined;
}

async function record(
  base: string,
  { path, method, operation }: Located,
  { key, parameters = {}, body }: ExampleRequest,
  secrets: Secrets,
): Promise<Example> {
  const query = new URLSearchParams();
  let filled = path;
  for (const [name, value] of Object.entries(parameters)) {
    if (path.includes(`{${name}}`)) filled = filled.replace(`{${name}}`, encodeURIComponent(value));
    else query.set(name, String(value));
  }
  const [type = ''] = Object.keys(operation.requestBody?.content ?? {});
  const response = await fetch(`${base}${filled}?${query}`, {
    method,
    headers: {
      ...(key !== undefined && { authorization: `Bearer ${secrets[key]}` }),
      ...(body !== undefined && { 'content-type': type }),
    },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const { status } = response;
  const text = await response.text();
  if (!response.ok) throw new Error(`the example of ${operation.operationId} is answered ${status}: ${text}`);
  const isJson = response.headers.get('content-type')?.startsWith('application/json') === true;
  return { parameters, ...(body !== undefined && { body }), status, answer: isJson ? JSON.parse(text) : null };
}

/** What differs from run to run is written the same way each time: secrets, and moments of the run itself. */
function steady<T>(value: T, secrets: Secrets, begun: number): T {
  const shown = new Map(Object.values(secrets).map((secret) => [secret, secret.replace(/-.*/, '-…')]));
  const walk = (node: unknown): unknown => {
    if (typeof node === 'number')
      return Number.isInteger(node) && node >= begun && node < begun + 3600 ? starterTime : node;
    if (typeof node === 'string') return shown.get(node) ?? node;
    if (Array.isArray(node)) return node.map(walk);
    if (typeof node !== 'object' || node === null) return node;
    return Object.fromEntries(Object.entries(node).map(([name, one]) => [name, walk(one)]));
  };
  return walk(value) as T;
}
