import { readFileSync } from 'node:fs';
import type { Secrets } from '../../src/cli/starter.ts';
import { keyKinds } from '../../src/contract/record.ts';
import { makeSecret } from '../../src/domain/secret.ts';
import type { Example, Examples } from '../../src/http/openapi/examples.ts';
import { starterRecords } from './cli-helpers.ts';
import { type ExampleRequest, exampleKeys, exampleRequests } from './example-requests.ts';
import { type Service, startService } from './harness.ts';

type Operation = { operationId: string; requestBody?: { content: object } };
type Document = { paths: Record<string, Record<string, Operation>> };
export type Starter = { service: Service; secrets: Secrets };

/** The evening of the last starter message. */
const starterTime = 1_793_822_400;

/** A service with the starter records and a key of each kind. Its clock stands, so that it answers the same each time. */
export async function startStarter(): Promise<Starter> {
  const service = await startService('sqlite');
  service.stopTime(starterTime * 1000);
  const records: Record<string, string>[] = readFileSync(starterRecords, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  const [workspace_id, app_id] = ['workspace', 'app'].map((kind) => records.find(({ record }) => record === kind)?.id);
  const secrets = Object.fromEntries(keyKinds.map((kind) => [kind, makeSecret(kind)])) as Secrets;
  const keys = keyKinds.map((kind) => ({
    record: 'api_key',
    id: exampleKeys[kind],
    kind,
    ...(kind !== 'admin' && { workspace_id }),
    ...((kind === 'app' || kind === 'writer') && { app_id }),
    name: `starter ${kind}`,
    secret: secrets[kind],
  }));
  await service.load([...records, ...keys]);
  return { service, secrets };
}

/** Asks a fresh starter service for every example, and gives what it answered. */
export async function recordExamples(document: Document): Promise<Examples> {
  const starter = await startStarter();
  try {
    const examples: Examples = {};
    let cookie: string | undefined;
    for (const [id, request] of Object.entries(exampleRequests)) {
      const operation = findOperation(document, id);
      // An operation that is gone is said by the tests.
      if (operation === undefined) continue;
      const { example, setCookie } = await record(starter, operation, request, cookie);
      examples[id] = example;
      cookie = setCookie ?? cookie;
    }
    return examples;
  } finally {
    await starter.service.close();
  }
}

type Located = { path: string; method: string; operation: Operation };

function findOperation({ paths }: Document, id: string): Located | undefined {
  for (const [path, methods] of Object.entries(paths)) {
    for (const [method, operation] of Object.entries(methods))
      if (operation.operationId === id) return { path, method: method.toUpperCase(), operation };
  }
  return undefined;
}

async function record(
  { service, secrets }: Starter,
  { path, method, operation }: Located,
  request: ExampleRequest,
  cookie: string | undefined,
): Promise<{ example: Example; setCookie: string | undefined }> {
  const { key, parameters = {}, body, isSignedIn, after = 0, steady = (response) => response } = request;
  service.passTime(after);
  const [type = ''] = Object.keys(operation.requestBody?.content ?? {});
  const payload = typeof body === 'string' ? body : JSON.stringify(body)?.replace('"admin-…"', `"${secrets.admin}"`);
  // Not by `service.ask`, which holds answers against the very document that is being written.
  const response = await fetch(`${service.base}${fill(path, parameters)}`, {
    method,
    headers: {
      ...(key !== undefined && { authorization: `Bearer ${secrets[key]}` }),
      ...(payload !== undefined && { 'content-type': type }),
      ...(isSignedIn && { cookie: cookie ?? '', 'backscroll-console': '1' }),
    },
    ...(payload !== undefined && { body: payload }),
  });
  const { status } = response;
  const text = await response.text();
  if (!response.ok) throw new Error(`the example of ${operation.operationId} is answered ${status}: ${text}`);
  const example = { parameters, ...(body !== undefined && { body }), status, response: steady(JSON.parse(text)) };
  return { example, setCookie: response.headers.getSetCookie()[0]?.split(';', 1)[0] };
}

function fill(path: string, parameters: Record<string, string | number>): string {
  const query = Object.entries(parameters).filter(([name]) => !path.includes(`{${name}}`));
  const filled = path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(parameters[name] ?? ''));
  return `${filled}?${new URLSearchParams(query.map(([name, value]) => [name, String(value)]))}`;
}
