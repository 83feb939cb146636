import assert from 'node:assert/strict';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { Service, TestResponse } from '../support/harness.ts';

/** Every version that the endpoint serves. */
export const versions = ['2026-07-28', '2025-11-25', '2025-06-18'] as const;
export type Version = (typeof versions)[number];

/** The official client, which validates every result by the schema of its tool. */
export async function connect(service: Pick<Service, 'base'>, key: string, version: Version): Promise<Client> {
  const isNew = version === '2026-07-28';
  const client = new Client(
    { name: 'test', version: '1.0.0' },
    isNew ? { versionNegotiation: { mode: { pin: version } } } : { supportedProtocolVersions: [version] },
  );
  const requestInit = { headers: { authorization: `Bearer ${key}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${service.base}/mcp`), { requestInit }));
  return client;
}

// biome-ignore lint/suspicious/noExplicitAny: tests read results freely
export type Result = any;

/** The structured result of a tool; for an error its status, code and message. */
export async function call(client: Client, name: string, given: object = {}): Promise<Result> {
  return resultOf(await client.callTool({ name, arguments: given as Record<string, unknown> }));
}

export function resultOf({ isError, structuredContent, content }: Result): Result {
  if (!isError) return structuredContent;
  assert.equal(structuredContent, undefined, 'it would not have the schema of the tool');
  return JSON.parse(content[0].text);
}

/** Sends one message without a client. */
export function send(
  service: Service,
  key: string | undefined,
  message: unknown,
  headers: Record<string, string> = {},
): Promise<TestResponse> {
  const body = typeof message === 'string' ? message : JSON.stringify(message);
  return service.as(key).post('/mcp', body, { 'content-type': 'application/json', ...headers });
}

let lastId = 0;
export const rpc = (method: string, params?: object) => ({
  jsonrpc: '2.0',
  id: ++lastId,
  method,
  ...(params && { params }),
});

/** A call of a tool without a client. */
export const callRaw = (service: Service, key: string | undefined, name: string, given: object = {}) =>
  send(service, key, rpc('tools/call', { name, arguments: given }));
