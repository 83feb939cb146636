import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { describe } from 'node:test';
import pg from 'pg';
import { pino } from 'pino';
import { type Config, readConfig } from '../../src/config.ts';
import { commandLine } from '../../src/domain/check-references.ts';
import { importRecords } from '../../src/domain/import-records.ts';
import { LastUsed } from '../../src/domain/last-used.ts';
import { makeSecret } from '../../src/domain/secret.ts';
import type { Store } from '../../src/domain/store.ts';
import { buildApp } from '../../src/http/app.ts';
import { databaseOf } from '../../src/store/open.ts';
import { checkResponse } from './openapi-check.ts';

/** A size of an experiment, or a number of runs: `npm test` takes the short one, `npm run test:all` the long one. */
export const shortOrLong = (short: number, long: number): number => (process.env.TEST_LONG ? long : short);

/** Every engine the suite runs on. */
export const engines = ['sqlite', 'postgres'] as const;
export type Engine = (typeof engines)[number];

/** The same tests on every engine. */
export function onEveryEngine(name: string, tests: (engine: Engine) => void): void {
  for (const engine of engines) describe(`${name} [${engine}]`, () => tests(engine));
}

export type TestResponse = {
  status: number;
  headers: http.IncomingHttpHeaders;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers freely
  body: any;
};

export type RequestOptions = {
  key?: string | undefined;
  headers?: http.OutgoingHttpHeaders;
  /** An object is sent as JSON with its content type; a string or bytes as they are. */
  body?: unknown;
  /** Loopback address to come from (127.0.0.x), for what is counted per address. */
  from?: string;
};

export type Service = {
  base: string;
  port: number;
  store: Store;
  config: Config;
  /** Log lines so far. */
  logs: string[];
  /** Moves the service's clock, in seconds. */
  passTime(seconds: number): void;
  /** From now on the service's clock only moves by `passTime`. It stands at `millis`, or where it is. */
  stopTime(millis?: number): void;
  /** Every route that the framework knows, hidden ones too, its path as a pattern. */
  routes(): { method: string; url: string }[];
  request(method: string, path: string, ask?: RequestOptions): Promise<TestResponse>;
  /** Takes records in as the command line does. */
  load(records: readonly object[]): Promise<number>;
  close(): Promise<void>;
};

/** A new, empty database of its own. */
export async function newDatabaseUrl(engine: Engine): Promise<{ url: string; remove: () => Promise<void> }> {
  if (engine === 'sqlite') {
    const folder = await mkdtemp(join(tmpdir(), 'backscroll-test-'));
    return { url: `sqlite:${join(folder, 'test.db')}`, remove: () => rm(folder, { recursive: true, force: true }) };
  }
  const server = process.env.TEST_DATABASE_URL;
  if (!server) throw new Error('no PostgreSQL: run the tests with npm test, or set TEST_DATABASE_URL');
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  await onServer(server, `CREATE DATABASE ${name}`);
  const remove = () => onServer(server, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
  return { url: `${server}/${name}`, remove };
}

async function onServer(url: string, statement: string): Promise<void> {
  const client = new pg.Client(`${url}/postgres`);
  await client.connect();
  await client.query(statement);
  await client.end();
}

/** A service on a database of its own, listening on a free port of 127.0.0.1. */
export async function startService(
  engine: Engine,
  settings: Record<string, string> = {},
  databaseUrl?: string,
): Promise<Service> {
  const fresh = databaseUrl === undefined ? await newDatabaseUrl(engine) : undefined;
  const config = readConfig({ DATABASE_URL: databaseUrl ?? fresh?.url, PORT: '0', ...settings });
  const logs: string[] = [];
  const sink = new Writable({
    write(line, _encoding, done) {
      logs.push(String(line));
      done();
    },
  });
  let offset = 0;
  let stopped: number | undefined;
  const clock = () => (stopped ?? Date.now()) + Math.round(offset * 1000);
  const database = databaseOf(config);
  await database.migrate(Math.floor(clock() / 1000));
  const store = await database.open();
  const uses = new LastUsed();
  const logger = pino({ level: config.log_level }, sink);
  const app = await buildApp({ ...config, store, clock, uses, lines: sink, logger });
  await app.listen({ host: '127.0.0.1', port: config.port });
  const { port } = app.server.address() as AddressInfo;
  const base = `http://127.0.0.1:${port}`;
  const agent = new http.Agent({ keepAlive: true });
  return {
    base,
    port,
    store,
    config,
    logs,
    passTime: (seconds) => {
      offset += seconds;
    },
    stopTime: (millis = Date.now()) => {
      stopped = millis;
    },
    routes: () => routesIn(app.printRoutes({ commonPrefix: false })),
    request: (method, path, ask = {}) => send(agent, base, method, path, ask),
    load: (records) => importRecords(store, commandLine, [{ bytes: linesOf(records) }], Math.floor(clock() / 1000)),
    close: async () => {
      agent.destroy();
      await app.close();
      await store.close();
      await fresh?.remove();
    },
  };
}

/** Reads the tree that the framework's router prints: four characters a level, then a part of the path. */
function routesIn(tree: string): { method: string; url: string }[] {
  const parts: string[] = [];
  return tree.split('\n').flatMap((line) => {
    const [, indent = '', part = '', methods = ''] = /^([\s│├└─]*)(\S+)(?: \((.*)\))?$/.exec(line) ?? [];
    parts.splice(indent.length / 4 - 1, Number.POSITIVE_INFINITY, part);
    return methods === '' ? [] : methods.split(', ').map((method) => ({ method, url: parts.join('') }));
  });
}

async function* linesOf(records: readonly object[]): AsyncGenerator<Uint8Array> {
  yield Buffer.from(ndjson(records));
}

export const ndjson = (records: readonly object[]): string =>
  records.map((record) => `${JSON.stringify(record)}\n`).join('');

/** One request. Every answer is held against the OpenAPI document. */
async function send(
  agent: http.Agent,
  base: string,
  method: string,
  path: string,
  ask: RequestOptions,
): Promise<TestResponse> {
  const isObject = typeof ask.body === 'object' && ask.body !== null && !(ask.body instanceof Uint8Array);
  const payload = isObject ? JSON.stringify(ask.body) : (ask.body as string | Uint8Array | undefined);
  const headers: http.OutgoingHttpHeaders = {
    ...(ask.key !== undefined && { authorization: `Bearer ${ask.key}` }),
    ...(isObject && { 'content-type': 'application/json' }),
    ...(payload !== undefined && { 'content-length': Buffer.byteLength(payload) }),
    ...ask.headers,
  };
  const options = {
    method,
    headers,
    agent: ask.from ? new http.Agent() : agent,
    ...(ask.from && { localAddress: ask.from }),
  };
  const request = http.request(`${base}${path}`, options);
  request.end(payload);
  const [message] = (await once(request, 'response')) as [http.IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString();
  const isJson = message.headers['content-type']?.startsWith('application/json') && text !== '';
  const response: TestResponse = {
    status: message.statusCode ?? 0,
    headers: message.headers,
    text,
    body: isJson ? JSON.parse(text) : undefined,
  };
  checkResponse(method, path, response);
  return response;
}

/** Two workspaces with an app, keys and a knowledge base each, all with new ids. */
export function makeWorld() {
  const one = makeTenant();
  const other = makeTenant();
  const admin = makeSecret('admin');
  const records = [
    ...one.records,
    ...other.records,
    { record: 'api_key', kind: 'admin', name: 'admin', secret: admin },
  ];
  return { one, other, admin, records };
}

export type Tenant = ReturnType<typeof makeTenant>;

/** One workspace: a chat app with app and writer keys, a dataset with one chunk path and a knowledge key. */
export function makeTenant(mode = 'chat') {
  const ids = {
    workspace: randomUUID(),
    app: randomUUID(),
    dataset: randomUUID(),
    document: randomUUID(),
    segment: randomUUID(),
    chunk: randomUUID(),
    conversation: randomUUID(),
  };
  const keyIds = { app: randomUUID(), writer: randomUUID(), knowledge: randomUUID() };
  const keys = { app: makeSecret('app'), writer: makeSecret('writer'), knowledge: makeSecret('knowledge') };
  const workspace_id = ids.workspace;
  const key = (kind: 'app' | 'writer' | 'knowledge', more: object) => ({
    record: 'api_key',
    id: keyIds[kind],
    kind,
    workspace_id,
    name: kind,
    secret: keys[kind],
    ...more,
  });
  const records: object[] = [
    { record: 'workspace', id: workspace_id, name: 'workspace' },
    { record: 'app', id: ids.app, workspace_id, name: 'app', mode },
    key('app', { app_id: ids.app }),
    key('writer', { app_id: ids.app }),
    key('knowledge', {}),
    { record: 'dataset', id: ids.dataset, workspace_id, name: 'dataset' },
    { record: 'document', id: ids.document, dataset_id: ids.dataset, name: 'document' },
    { record: 'segment', id: ids.segment, document_id: ids.document, position: 1, content: 'segment text' },
    {
      record: 'child_chunk',
      id: ids.chunk,
      segment_id: ids.segment,
      position: 1,
      content: 'chunk text',
      created_at: 1000,
    },
    { record: 'conversation', id: ids.conversation, app_id: ids.app, user: 'ann', created_at: 1000 },
  ];
  return { ids, keyIds, keys, records, chunkPath: chunkPath(ids) };
}

export type ChunkIds = { dataset: string; document: string; segment: string; chunk: string };

export function chunkPath({ dataset, document, segment, chunk }: ChunkIds): string {
  return `/v1/datasets/${dataset}/documents/${document}/segments/${segment}/child_chunks/${chunk}`;
}

/** A message record with only what must be given. */
export function message(conversation_id: string, created_at: number, more: object = {}) {
  return { record: 'message', id: randomUUID(), conversation_id, query: 'q', answer: 'a', created_at, ...more };
}

/** What a message record may leave out, but for its time, and what it then holds. */
export const messageDefaults = {
  parent_message_id: null,
  inputs: {},
  status: 'normal',
  error: null,
  message_files: [],
  feedback: null,
  retriever_resources: [],
  agent_thoughts: [],
  extra_contents: [],
  message_tokens: 0,
  answer_tokens: 0,
  total_tokens: 0,
  provider_response_latency: 0,
  total_price: null,
  currency: null,
};
