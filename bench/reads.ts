import { appSecret, conversationId, messageId, type Shape } from './data.ts';
import { Client, load } from './load.ts';
import { processorSeconds, type Server } from './servers.ts';

/** Requests for pages, and how fast a server answers them. */

export const pageMessages = 20;
const connections = 32;
const workingSet = 500;

export function get(path: string, headers = ''): string {
  return `GET ${path} HTTP/1.1\r\nHost: bench\r\n${headers}\r\n`;
}

export const authorization = `Authorization: Bearer ${appSecret}\r\n`;

/** The page that ends before a message of a conversation. */
export function pageRequest(conversation: number, first: number, more = ''): string {
  const query = `conversation_id=${conversationId(conversation)}&first_id=${messageId(conversation, first)}`;
  return get(`/v1/messages?user=user-${conversation}&${query}&limit=${pageMessages}`, authorization + more);
}

const anyOf = (count: number): number => Math.floor(Math.random() * count);

/** Any full page of any conversation: far more of them than a cache holds. */
export function anyPage({ conversations, messages }: Shape): () => string {
  return () => pageRequest(anyOf(conversations), pageMessages + anyOf(messages - pageMessages));
}

/** The same pages over and over. */
export function fewPages(shape: Shape, count = workingSet): () => string {
  const requests = Array.from({ length: count }, anyPage(shape));
  return () => requests[anyOf(count)] ?? '';
}

/** The same pages, held by a client that asks whether they are current. */
export async function heldPages(server: Server, shape: Shape, count = workingSet): Promise<() => string> {
  const client = await Client.open(server.port);
  const requests: string[] = [];
  for (let at = 0; at < count; at += 1) {
    const [conversation, first] = [anyOf(shape.conversations), pageMessages + anyOf(shape.messages - pageMessages)];
    const { head } = await client.ask(pageRequest(conversation, first));
    const tag = /\r\netag: (.*)/i.exec(head)?.[1];
    requests.push(pageRequest(conversation, first, `If-None-Match: ${tag}\r\n`));
  }
  client.close();
  return () => requests[anyOf(count)] ?? '';
}

/** Bytes of a page's body, as the server sends it. */
export async function bodyBytes(server: Server, request: string): Promise<number> {
  const client = await Client.open(server.port);
  const { head } = await client.ask(request);
  client.close();
  return Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1]);
}

export type Rate = { perSecond: number; processorMicros: number };

/** Requests a second, and what each costs the server. */
export async function rateOf(server: Server, next: () => string, status = 200, seconds = 1.5): Promise<Rate> {
  const before = processorSeconds(server);
  const done = await load({ port: server.port, next, connections, seconds, status });
  const used = processorSeconds(server) - before;
  return { perSecond: done.requests / done.seconds, processorMicros: (used / done.requests) * 1e6 };
}
