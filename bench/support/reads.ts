import { appSecret, conversationId, messageId, type Shape } from './data.ts';
import { type Client, load, withClients } from './load.ts';
import { interleave } from './pairs.ts';
import { fullOr } from './quick.ts';
import { processorSeconds, type Server } from './servers.ts';

/** Requests for pages, and how fast a server responds to them. */

export const pageMessages = 20;
export const connections = 32;
const workingSet = fullOr(500, 50);
export const roundSeconds = fullOr(1.5, 0.2);
/** Until the server has compiled its hot code. */
export const warmSeconds = fullOr(4, 0.2);

export function get(path: string, headers = ''): string {
  return `GET ${path} HTTP/1.1\r\nHost: bench\r\n${headers}\r\n`;
}

export const authorization = `Authorization: Bearer ${appSecret}\r\n`;

/** The page that ends before a message of a conversation. */
export function pageRequest(conversation: number, first: number, more = ''): string {
  const query = `conversation_id=${conversationId(conversation)}&first_id=${messageId(conversation, first)}`;
  return get(`/v1/messages?user=user-${conversation}&${query}&limit=${pageMessages}`, authorization + more);
}

const randomBelow = (count: number): number => Math.floor(Math.random() * count);

/** A random one of these values. */
export function pick<T>(values: readonly T[]): T {
  return values[randomBelow(values.length)] as T;
}

/** A random conversation, and a message in it that has a full page before it. */
export function randomCursor({ conversations, messages }: Shape): [conversation: number, first: number] {
  return [randomBelow(conversations), pageMessages + randomBelow(messages - pageMessages)];
}

/** Returns requests for random full pages: far more pages than a cache holds. Request texts are reused to save CPU time. */
export function randomPages(shape: Shape): () => string {
  const requests = new Map<number, string>();
  return () => {
    const [conversation, first] = randomCursor(shape);
    const key = conversation * shape.messages + first;
    let request = requests.get(key);
    if (request === undefined) {
      request = pageRequest(conversation, first);
      requests.set(key, request);
    }
    return request;
  };
}

/** Requests for a fixed set of pages. */
export function pageSet(shape: Shape, count = workingSet): string[] {
  return Array.from({ length: count }, randomPages(shape));
}

/** Sends each request once, which fills caches, and returns the mean length of a body in bytes. */
export function requestEach({ port }: Server, requests: readonly string[]): Promise<number> {
  return withClients(port, 1, async ([client]) => {
    let bytes = 0;
    for (const request of requests) {
      const response = await client?.request(request);
      if (response?.status !== 200) throw new Error(`status ${response?.status}, not 200`);
      bytes += Number(/\r\ncontent-length: (\d+)/i.exec(response.head)?.[1]);
    }
    return Math.round(bytes / requests.length);
  });
}

export type Rate = { perSecond: number; processorMicros: number };

/** Requests per second, and the processor time of the server for each. */
export async function rateOf(server: Server, next: () => string, seconds = roundSeconds): Promise<Rate> {
  const before = processorSeconds(server);
  const done = await load({ port: server.port, next, connections, seconds, status: 200 });
  const used = processorSeconds(server) - before;
  return { perSecond: done.requests / done.seconds, processorMicros: (used / done.requests) * 1e6 };
}

/** The microseconds from each request to the end of its response, one request at a time. */
export async function latencyOf(client: Client, requests: readonly string[]): Promise<number[]> {
  const micros: number[] = [];
  for (const request of requests) {
    const start = performance.now();
    const { status } = await client.request(request);
    micros.push((performance.now() - start) * 1000);
    if (status !== 200) throw new Error(`status ${status}, not 200`);
  }
  return micros;
}

export type Contestant = { server: Server; next: () => string };

/** The processor time per request of several servers, in microseconds, measured in turn. */
export async function processorMicrosOf(contestants: readonly Contestant[]): Promise<number[][]> {
  for (const { server, next } of contestants) await rateOf(server, next, warmSeconds);
  const micros =
    ({ server, next }: Contestant) =>
    async () =>
      (await rateOf(server, next)).processorMicros;
  return interleave(contestants.map(micros));
}
