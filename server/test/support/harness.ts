import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { after, before, describe, it, type TestContext } from 'node:test';
import pg from 'pg';
import { pino } from 'pino';
import { type Config, difyOwnsData, readConfig } from '../../src/config.ts';
import { DifyOwner } from '../../src/dify/owned/owner.ts';
import { commandLine } from '../../src/domain/import/check-references.ts';
import { importRecords } from '../../src/domain/import/import-records.ts';
import { KeyUses } from '../../src/domain/keys/key-uses.ts';
import { SearchIndexer } from '../../src/domain/search/search-indexer.ts';
import { makeSecret } from '../../src/domain/secret.ts';
import type { Store } from '../../src/domain/store/store.ts';
import { buildApp } from '../../src/http/app.ts';
import { createSharedState } from '../../src/http/shared-state.ts';
import { oidcOf } from '../../src/oidc-settings.ts';
import { validateInThreads } from '../../src/service/validation-pool.ts';
import { databaseOf } from '../../src/store/open.ts';
import { citusUrl, createDatabase, dropDatabase, urlOf } from '../citus/cluster.ts';
import { isLong, shortOrLong } from './long.ts';
import { checkResponse } from './openapi-check.ts';

export type Engine = 'sqlite' | 'postgres';
/** Every engine the suite runs on. `npm run test:citus` runs it on PostgreSQL only, with databases on a Citus cluster. */
export const engines: readonly Engine[] = citusUrl === undefined ? ['sqlite', 'postgres'] : ['postgres'];

export { isLong, shortOrLong };

/** Runs the same tests on every engine. */
export function onEveryEngine(name: string, tests: (engine: Engine) => void): void {
  for (const engine of engines) describe(`${name} [${engine}]`, () => tests(engine));
}

/** Runs tests of what no engine changes on the first one, and in `npm run test:all` on every one. */
export function onOneEngine(name: string, tests: (engine: Engine) => void): void {
  for (const engine of engines) describeOnOneEngine(engine, `${name} [${engine}]`, () => tests(engine));
}

/** A part of a suite that runs on every engine: what no engine changes, such as the rejection of a field. */
export function describeOnOneEngine(engine: Engine, name: string, tests: () => void): void {
  if (isLong || engine === engines[0]) describe(name, tests);
}

/** A test of such a part. */
export function itOnOneEngine(engine: Engine, name: string, test: (t: TestContext) => void | Promise<void>): void {
  if (isLong || engine === engines[0]) it(name, test);
}

export type TestResponse = {
  status: number;
  headers: http.IncomingHttpHeaders;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests read responses freely
  body: any;
};

export type RequestOptions = {
  key?: string | undefined;
  headers?: http.OutgoingHttpHeaders;
  /** An object is sent as JSON with its content type; a string or bytes are sent unchanged. */
  body?: unknown;
  /** Loopback address of the client (127.0.0.x), for limits per address. */
  from?: string;
};

export type Service = {
  base: string;
  port: number;
  store: Store;
  config: Config;
  /** Log lines so far. */
  logs: string[];
  /** Advances the service's clock, in seconds. */
  advanceClock(seconds: number): void;
  /** Freezes the service's clock at `millis`, by default at the current time. Then only `advanceClock` moves it. */
  freezeClock(millis?: number): void;
  /** Every route registered with the framework, hidden ones included, with its path as a pattern. */
  routes(): { method: string; url: string }[];
  request(method: string, path: string, options?: RequestOptions): Promise<TestResponse>;
  /** Requests with one key. */
  as(key?: string): KeyClient;
  /** Imports records as the command line does. */
  load(records: readonly object[]): Promise<number>;
  /** Stores the use of keys and their errors, as a running service does regularly. */
  saveUses(): Promise<void>;
  /** Brings the index of the search up to date, as `serve` does all the time. */
  index(): Promise<void>;
  close(): Promise<void>;
};

type SendBody = (path: string, body?: unknown, headers?: RequestOptions['headers']) => Promise<TestResponse>;
export type KeyClient = {
  get(path: string, headers?: RequestOptions['headers']): Promise<TestResponse>;
  post: SendBody;
  put: SendBody;
  patch: SendBody;
  delete: SendBody;
  /** Every row of a list, page by page, by its cursors. */
  // biome-ignore lint/suspicious/noExplicitAny: tests read responses freely
  rows(path: string): Promise<any[]>;
  /** Imports records over HTTP. */
  append(...records: readonly object[]): Promise<TestResponse>;
};

function clientWith(request: Service['request'], key: string | undefined): KeyClient {
  const send =
    (method: string): SendBody =>
    (path, body, headers = {}) =>
      request(method, path, { key, headers, body });
  const headers = { 'content-type': 'application/x-ndjson' };
  const get: KeyClient['get'] = (path, headers = {}) => request('GET', path, { key, headers });
  return {
    ...{ get, post: send('POST'), put: send('PUT'), patch: send('PATCH'), delete: send('DELETE') },
    rows: async (path) => {
      const rows: unknown[] = [];
      for (let cursor = ''; ; ) {
        const { status, body, text } = await get(`${path}${cursor}`);
        assert.equal(status, 200, text);
        rows.push(...body.data);
        assert.equal(body.has_more, body.next_cursor !== null);
        if (!body.has_more) return rows;
        cursor = `${path.includes('?') ? '&' : '?'}cursor=${body.next_cursor}`;
      }
    },
    append: (...records) => request('POST', '/admin/records', { key, headers, body: ndjson(records) }),
  };
}

/** Creates a database: empty, or on PostgreSQL a copy of another, if the global setup has created that one. */
export async function newDatabaseUrl(
  engine: Engine,
  template?: string,
): Promise<{ url: string; remove: () => Promise<void> }> {
  if (engine === 'sqlite') {
    const folder = await mkdtemp(join(tmpdir(), 'backscroll-test-'));
    return { url: `sqlite:${join(folder, 'test.db')}`, remove: () => rm(folder, { recursive: true, force: true }) };
  }
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  if (citusUrl !== undefined) {
    await createDatabase(name);
    return { url: urlOf(name), remove: () => dropDatabase(name) };
  }
  const server = process.env.TEST_DATABASE_URL;
  if (!server) throw new Error('no PostgreSQL: run the tests with npm test, or set TEST_DATABASE_URL');
  // Copied as files: writing all pages to the log as well takes several times as long.
  const copy = template === undefined ? '' : `TEMPLATE ${template} STRATEGY file_copy`;
  await queryOnce(`${server}/postgres`, `CREATE DATABASE ${name} ${copy}`);
  const remove = () => queryOnce(`${server}/postgres`, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
  return { url: `${server}/${name}`, remove };
}

/** A database with the current tables, without rows. They are created when it is migrated, if there is no template. */
export const newMigratedUrl = (engine: Engine) => newDatabaseUrl(engine, process.env.TEST_TEMPLATE);

/** Runs a statement on its own connection. */
export async function queryOnce(url: string, statement: string): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  await client.query(statement);
  await client.end();
}

/** A database of the product that a test opens itself, without a service. */
export const databaseAt = (url: string, settings: NodeJS.ProcessEnv = {}) =>
  databaseOf(readConfig({ DATABASE_URL: url, ...settings }));

/** Starts a service on its own database, listening on a free port of 127.0.0.1. A busy machine may need seconds for what is held back. */
export async function startService(
  engine: Engine,
  settings: Record<string, string> = {},
  databaseUrl?: string,
  heldMillisMax = 60_000,
): Promise<Service> {
  const ownDatabase = databaseUrl === undefined ? await newMigratedUrl(engine) : undefined;
  const database_url = databaseUrl ?? ownDatabase?.url;
  // A burst of writes on a busy machine takes longer than the default timeout.
  const config = readConfig({ DATABASE_URL: database_url, PORT: '0', DATABASE_TIMEOUT: '60000', ...settings });
  const logs: string[] = [];
  const sink = new Writable({
    write(line, _encoding, done) {
      logs.push(String(line));
      done();
    },
  });
  let offset = 0;
  let frozenAt: number | undefined;
  const clock = () => (frozenAt ?? Date.now()) + Math.round(offset * 1000);
  const database = databaseOf(config);
  await database.migrate(Math.floor(clock() / 1000));
  const store = await database.open();
  const uses = new KeyUses();
  const logger = pino({ level: config.log_level }, sink);
  // By a clock that stands still: on a busy machine the gate would reject requests.
  const now = () => 0;
  const observed = { logger, lines: sink, uses, shared: createSharedState(1), worker: 0 };
  const owner = difyOwnsData(config)
    ? new DifyOwner(config.dify_database_url ?? '', store, clock, heldMillisMax)
    : undefined;
  const app = await buildApp({
    ...config,
    ...observed,
    owner,
    store,
    clock,
    now,
    validateLines: validateInThreads,
    oidc: oidcOf(config),
  });
  await app.listen({ host: '127.0.0.1', port: config.port });
  const { port } = app.server.address() as AddressInfo;
  const base = `http://127.0.0.1:${port}`;
  const agent = new http.Agent({ keepAlive: true });
  const request: Service['request'] = (method, path, options = {}) => send(agent, base, method, path, options);
  return {
    base,
    port,
    store,
    config,
    logs,
    advanceClock: (seconds) => {
      offset += seconds;
    },
    freezeClock: (millis = Date.now()) => {
      frozenAt = millis;
    },
    routes: () => routesIn(app.printRoutes({ commonPrefix: false })),
    request,
    as: (key) => clientWith(request, key),
    load: async (records) => {
      const sources = [{ bytes: linesOf(records) }];
      return (await importRecords(store, commandLine, sources, Math.floor(clock() / 1000))).records;
    },
    saveUses: () => uses.save(store),
    index: async () => {
      const indexer = new SearchIndexer(store, clock);
      while ((await indexer.step()) !== 'idle');
      await indexer.end();
    },
    close: async () => {
      agent.destroy();
      await app.close();
      await store.close();
      await ownDatabase?.remove();
    },
  };
}

/** A service for all tests of a suite, with these records: started before them, closed after them. */
export function useService(
  engine: Engine,
  records: readonly object[] = [],
  settings?: Record<string, string>,
): Service {
  const service = { as: (key) => clientWith((...options) => service.request(...options), key) } as Service;
  before(async () => {
    Object.assign(service, await startService(engine, settings));
    if (records.length > 0) await service.load(records);
  });
  after(() => service.close?.());
  return service;
}

/** Imports records as the command line does, without a service. */
export async function importInto(
  url: string,
  records: readonly object[],
  settings: NodeJS.ProcessEnv = {},
): Promise<void> {
  const database = databaseAt(url, settings);
  await database.migrate(1);
  const store = await database.open();
  await importRecords(store, commandLine, [{ bytes: linesOf(records) }], 1);
  await store.close();
}

/** A database with these records, created without a process of its own. */
export async function newDatabaseWith(
  engine: Engine,
  records: readonly object[],
): Promise<{ url: string; remove: () => Promise<void> }> {
  const database = await newMigratedUrl(engine);
  const service = await startService(engine, {}, database.url);
  await service.load(records);
  await service.close();
  return database;
}

/** Parses the tree that the framework's router prints: four characters per level, then a part of the path. */
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

/** The chunks of an export of all records. */
export async function* exportedChunks({ exports }: Store): AsyncGenerator<Uint8Array> {
  const { chunks, close } = await exports.all(undefined, new AbortController().signal);
  try {
    yield* chunks;
  } finally {
    close();
  }
}

/** The output of `export`. */
export async function exportedText(store: Store): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of exportedChunks(store)) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

// biome-ignore lint/suspicious/noExplicitAny: tests read records freely
export const parseLines = (text: string): any[] =>
  text.split('\n').flatMap((line) => (line.trim() === '' ? [] : [JSON.parse(line)]));

/** One property of each item. */
export const pluck = <K extends string, V>(items: readonly { [P in K]?: V }[], name: K): (V | undefined)[] =>
  items.map((item) => item[name]);

export const ndjson = (records: readonly object[]): string =>
  records.map((record) => `${JSON.stringify(record)}\n`).join('');

/** Sends one request. Every response is checked against the OpenAPI document. */
async function send(
  agent: http.Agent,
  base: string,
  method: string,
  path: string,
  options: RequestOptions,
): Promise<TestResponse> {
  const isObject = typeof options.body === 'object' && options.body !== null && !(options.body instanceof Uint8Array);
  const payload = isObject ? JSON.stringify(options.body) : (options.body as string | Uint8Array | undefined);
  const headers: http.OutgoingHttpHeaders = {
    ...(options.key !== undefined && { authorization: `Bearer ${options.key}` }),
    ...(isObject && { 'content-type': 'application/json' }),
    ...(payload !== undefined && { 'content-length': Buffer.byteLength(payload) }),
    ...options.headers,
  };
  const httpOptions = {
    method,
    headers,
    agent,
    ...(options.from && { localAddress: options.from }),
  };
  const request = http.request(`${base}${path}`, httpOptions);
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

/** Two workspaces, each with an app, keys and a knowledge base, all with new ids; and an admin key. */
export function makeTwoTenants() {
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

/** One workspace: a chat app with an app key and a writer key, a dataset with one child chunk, and a knowledge key. */
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
  const keyIds = { app: randomUUID(), writer: randomUUID(), knowledge: randomUUID(), feed: randomUUID() };
  const keys = {
    app: makeSecret('app'),
    writer: makeSecret('writer'),
    knowledge: makeSecret('knowledge'),
    feed: makeSecret('feed'),
  };
  const workspace_id = ids.workspace;
  const key = (kind: keyof typeof keys, more: object) => ({
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
    key('feed', {}),
    { record: 'conversation', id: ids.conversation, app_id: ids.app, user: 'ann', created_at: 1000 },
  ];
  return { ids, keyIds, keys, records, chunkPath: chunkPath(ids) };
}

export type ChunkIds = { dataset: string; document: string; segment: string; chunk: string };

export function chunkPath({ dataset, document, segment, chunk }: ChunkIds): string {
  return `/v1/datasets/${dataset}/documents/${document}/segments/${segment}/child_chunks/${chunk}`;
}

/** A message record with only the required fields and its time. */
export function message(conversation_id: string, created_at: number, more: object = {}) {
  return { record: 'message', id: randomUUID(), conversation_id, query: 'q', answer: 'a', created_at, ...more };
}

/** The defaults of a message record's optional fields, except its time. */
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
