import { readFileSync } from 'node:fs';
import type { Secrets } from '../../../src/cli/starter.ts';
import { keyKinds, storedReachFields } from '../../../src/contract/key-kinds.ts';
import { makeSecret } from '../../../src/domain/secret.ts';
import { starterRecords } from '../cli-helpers.ts';
import {
  type Example,
  type ExampleParameters,
  type ExampleRequest,
  type Examples,
  exampleKeys,
  examplePerson,
  exampleRequests,
} from '../example-requests.ts';
import { parseLines, type Service, startService } from '../harness.ts';

type Operation = { operationId: string; requestBody?: { content: object } };
type Document = { paths: Record<string, Record<string, Operation>> };
export type Starter = { service: Service; records: StoredRecord[]; secrets: Secrets };
/** Some records have no id. */
export type StoredRecord = { record: string; id?: string };

/** The evening of the last starter message. */
const starterTime = 1_793_822_400;

/** The starter records with a key of each kind and a person, and the secrets of the keys. */
export function exampleRecords(): Pick<Starter, 'records' | 'secrets'> {
  const records: StoredRecord[] = parseLines(readFileSync(starterRecords, 'utf8'));
  const idOf = (kind: string) => records.find(({ record }) => record === kind)?.id;
  const reach = { workspace_id: idOf('workspace'), app_id: idOf('app'), dataset_ids: null };
  const secrets = Object.fromEntries(keyKinds.map((kind) => [kind, makeSecret(kind)])) as Secrets;
  const keys = keyKinds.map((kind) => ({
    record: 'api_key',
    id: exampleKeys[kind],
    kind,
    ...Object.fromEntries(storedReachFields(kind).map((field) => [field, reach[field]])),
    name: `starter ${kind}`,
    secret: secrets[kind],
  }));
  const person = { record: 'person', ...examplePerson, name: 'Ann', email: 'ann@example.com', role: 'editor' };
  return { records: [...records, ...keys, person], secrets };
}

/** A service with the starter records and a key of each kind. Its frozen clock makes responses reproducible. */
export async function startStarter(): Promise<Starter> {
  const service = await startService('sqlite');
  service.freezeClock(starterTime * 1000);
  const { records, secrets } = exampleRecords();
  await service.load(records);
  await service.index();
  return { service, records, secrets };
}

/** Sends every example request to a new starter service and returns the responses. */
export async function recordExamples(document: Document): Promise<Examples> {
  const { service, secrets } = await startStarter();
  try {
    return await sendExamples(service, secrets, document);
  } finally {
    await service.close();
  }
}

type Target = Pick<Service, 'base' | 'advanceClock'>;

/** Sends every example request to a service with `exampleRecords` and returns the responses. */
export async function sendExamples(target: Target, secrets: Secrets, document: Document): Promise<Examples> {
  const examples: Examples = {};
  let cookie: string | undefined;
  for (const [id, request] of Object.entries(exampleRequests)) {
    const operation = findOperation(document, id);
    // The tests report an operation that no longer exists.
    if (operation === undefined) continue;
    const { example, setCookie } = await record(target, secrets, operation, request, cookie);
    examples[id] = example;
    cookie = setCookie ?? cookie;
  }
  return examples;
}

type LocatedOperation = { path: string; method: string; operation: Operation };

function findOperation({ paths }: Document, id: string): LocatedOperation | undefined {
  for (const [path, methods] of Object.entries(paths)) {
    for (const [method, operation] of Object.entries(methods))
      if (operation.operationId === id) return { path, method: method.toUpperCase(), operation };
  }
  return undefined;
}

async function record(
  { base, advanceClock }: Target,
  secrets: Secrets,
  { path, method, operation }: LocatedOperation,
  request: ExampleRequest,
  cookie: string | undefined,
): Promise<{ example: Example; setCookie: string | undefined }> {
  const {
    key,
    parameters = {},
    body,
    isSignedIn,
    fails = false,
    after = 0,
    normalize = (response) => response,
  } = request;
  advanceClock(after);
  const [type = ''] = Object.keys(operation.requestBody?.content ?? {});
  const payload = typeof body === 'string' ? body : JSON.stringify(body)?.replace('"admin-…"', `"${secrets.admin}"`);
  // Not with `service.request`, which checks responses against the document that is being written.
  const response = await fetch(`${base}${fillPath(path, parameters)}`, {
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
  if (response.ok === fails) throw new Error(`the example of ${operation.operationId} fails with ${status}: ${text}`);
  const example = {
    parameters,
    ...(body !== undefined && { body }),
    status,
    ...(text !== '' && { response: normalize(JSON.parse(text)) }),
  };
  return { example, setCookie: response.headers.getSetCookie()[0]?.split(';', 1)[0] };
}

function fillPath(path: string, parameters: ExampleParameters): string {
  const query = Object.entries(parameters).filter(([name]) => !path.includes(`{${name}}`));
  const filledPath = path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(String(parameters[name] ?? '')));
  const pairs = query.flatMap(([name, value]) => [value].flat().map((item) => [name, String(item)]));
  return `${filledPath}?${new URLSearchParams(pairs)}`;
}
