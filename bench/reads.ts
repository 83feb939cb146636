import { appSecret, conversationId, messageId, type Shape } from './data.ts';
import { load, withClients } from './load.ts';
import { type Compared, compare, median } from './pairs.ts';
import { processorSeconds, type Server } from './servers.ts';

/** Requests for pages, and how fast a server answers them. */

export const pageMessages = 20;
export const connections = 32;
const workingSet = 500;
export const roundSeconds = 1.5;
/** Until a server has compiled what it runs most. */
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

const anyOf = (count: number): number => Math.floor(Math.random() * count);

/** One of these, at random. */
export function pick<T>(values: readonly T[]): T {
  return values[anyOf(values.length)] as T;
}

/** A conversation and a message in it that has a full page before it. */
export function anyPlace({ conversations, messages }: Shape): [conversation: number, first: number] {
  return [anyOf(conversations), pageMessages + anyOf(messages - pageMessages)];
}

/** Any full page of any conversation: far more of them than a cache holds. Written once each, since clients cost too. */
export function anyPage(shape: Shape): () => string {
  const written = new Map<number, string>();
  return () => {
    const [conversation, first] = anyPlace(shape);
    const name = conversation * shape.messages + first;
    let request = written.get(name);
    if (request === undefined) {
      request = pageRequest(conversation, first);
      written.set(name, request);
    }
    return request;
  };
}

/** A few pages, for asking over and over. */
export function fewPages(shape: Shape, count = workingSet): string[] {
  return Array.from({ length: count }, anyPage(shape));
}

/** The same questions of a client that holds the answers and asks whether they are current. */
export function heldPages({ port }: Server, requests: readonly string[]): Promise<string[]> {
  return withClients(port, 1, async ([client]) => {
    const held: string[] = [];
    for (const request of requests) {
      const tag = /\r\netag: (.*)/i.exec((await client?.ask(request))?.head ?? '')?.[1];
      held.push(request.replace(/\r\n$/, `If-None-Match: ${tag}\r\n\r\n`));
    }
    return held;
  });
}

/** Asks each once, so that what may be remembered is; gives the mean bytes of a body. */
export function visit({ port }: Server, requests: readonly string[]): Promise<number> {
  return withClients(port, 1, async ([client]) => {
    let bytes = 0;
    for (const request of requests) {
      const answer = await client?.ask(request);
      if (answer?.status !== 200) throw new Error(`answered ${answer?.status}, not 200`);
      bytes += Number(/\r\ncontent-length: (\d+)/i.exec(answer.head)?.[1]);
    }
    return Math.round(bytes / requests.length);
  });
}

export type Rate = { perSecond: number; processorMicros: number };

/** Requests a second, and what each costs the server. */
export async function rateOf(server: Server, next: () => string, status = 200, seconds = roundSeconds): Promise<Rate> {
  const before = processorSeconds(server);
  const done = await load({ port: server.port, next, connections, seconds, status });
  const used = processorSeconds(server) - before;
  return { perSecond: done.requests / done.seconds, processorMicros: (used / done.requests) * 1e6 };
}

export type ComparedRates = Compared & { notes: Record<string, string> };

/** Rates side by side, with what each request costs either server's processor and how busy that was. */
export async function compareRates(
  ours: () => Promise<Rate>,
  theirs: () => Promise<Rate>,
  pairs: number,
): Promise<ComparedRates> {
  const [mine, others]: [Rate[], Rate[]] = [[], []];
  const keeping = (rate: () => Promise<Rate>, list: Rate[]) => async () => {
    const one = await rate();
    list.push(one);
    return one.perSecond;
  };
  for (let round = 0; round < warmSeconds / roundSeconds; round += 1) await ours();
  await theirs();
  const figures = await compare(keeping(ours, mine), keeping(theirs, others), pairs);
  const micros = (rates: Rate[]) => median(rates.map(({ processorMicros }) => processorMicros));
  const busy = (rates: Rate[]) => median(rates.map((rate) => (rate.perSecond * rate.processorMicros) / 1e4));
  if (Number.isNaN(micros(mine))) return { ...figures, notes: {} };
  return {
    ...figures,
    notes: {
      'processor time of a request': `${micros(mine).toFixed(0)} against ${micros(others).toFixed(0)} µs`,
      'processor of the server busy': `${busy(mine).toFixed(0)} against ${busy(others).toFixed(0)} %`,
    },
  };
}
