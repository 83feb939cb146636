import { appSecret, conversationId, messageId, type Shape } from './data.ts';
import { load, withClients } from './load.ts';
import { type Comparison, compare, median } from './pairs.ts';
import { processorSeconds, type Server } from './servers.ts';

/** Requests for pages, and how fast a server responds to them. */

export const pageMessages = 20;
export const connections = 32;
const workingSet = 500;
export const roundSeconds = 1.5;
/** Until the server has compiled its hot code. */
const warmSeconds = 4;

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

/** These requests with If-None-Match, as sent by a client that has cached the responses. */
export function conditionalRequests({ port }: Server, requests: readonly string[]): Promise<string[]> {
  return withClients(port, 1, async ([client]) => {
    const conditional: string[] = [];
    for (const request of requests) {
      const tag = /\r\netag: (.*)/i.exec((await client?.request(request))?.head ?? '')?.[1];
      conditional.push(request.replace(/\r\n$/, `If-None-Match: ${tag}\r\n\r\n`));
    }
    return conditional;
  });
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

type RateOptions = { status?: number; seconds?: number; clients?: number };

/** Requests per second, and the CPU time of the server for each. */
export async function rateOf(
  server: Server,
  next: () => string,
  { status = 200, seconds = roundSeconds, clients = connections }: RateOptions = {},
): Promise<Rate> {
  const before = processorSeconds(server);
  const done = await load({ port: server.port, next, connections: clients, seconds, status });
  const used = processorSeconds(server) - before;
  return { perSecond: done.requests / done.seconds, processorMicros: (used / done.requests) * 1e6 };
}

export type RateComparison = Comparison & { notes: Record<string, string> };

/** Compares rates, with the CPU time per request and the CPU load of each server as notes. */
export async function compareRates(
  ours: () => Promise<Rate>,
  theirs: () => Promise<Rate>,
  pairs: number,
): Promise<RateComparison> {
  const [mine, others]: [Rate[], Rate[]] = [[], []];
  const recording = (rate: () => Promise<Rate>, list: Rate[]) => async () => {
    const one = await rate();
    list.push(one);
    return one.perSecond;
  };
  for (let round = 0; round < warmSeconds / roundSeconds; round += 1) await ours();
  await theirs();
  const measurements = await compare(recording(ours, mine), recording(theirs, others), pairs);
  const micros = (rates: Rate[]) => median(rates.map(({ processorMicros }) => processorMicros));
  const busy = (rates: Rate[]) => median(rates.map((rate) => (rate.perSecond * rate.processorMicros) / 1e4));
  if (Number.isNaN(micros(mine))) return { ...measurements, notes: {} };
  return {
    ...measurements,
    notes: {
      'CPU time per request': `${micros(mine).toFixed(0)} against ${micros(others).toFixed(0)} µs`,
      'CPU load of the server': `${busy(mine).toFixed(0)} against ${busy(others).toFixed(0)} %`,
    },
  };
}
