import { once } from 'node:events';
import net, { type AddressInfo } from 'node:net';

/** The log of a client: every executed statement, and the number of round trips. */
export type Traffic = { statements: SentStatement[]; roundTrips: number };
export type SentStatement = { name: string; text: string; values: (string | null)[] };

/** What the server tells its client besides results, and the last statement before it. */
export type Notice = { message: string; detail: string | undefined; statement: SentStatement | undefined };

export type RecordingProxy = {
  url: string;
  traffic: Traffic;
  startups: string[][];
  notices: Notice[];
  /** Closes the next connection that sends this text, without the response to it; `onLoss` runs before. */
  loseNext: (text: string, onLoss?: () => Promise<unknown>) => void;
  losses: () => number;
  close: () => Promise<void>;
};

const cancelRequestCode = 80_877_102;

/**
 * Starts a proxy between a client and PostgreSQL that forwards everything and records what the client sends. The first
 * `lostCancels` requests to cancel a statement get lost.
 */
export async function startProxy(url: string, lostCancels = 0): Promise<RecordingProxy> {
  let cancelsLost = 0;
  const { hostname, port } = new URL(url);
  const traffic: Traffic = { statements: [], roundTrips: 0 };
  const startups: string[][] = [];
  const sockets = new Set<net.Socket>();
  const notices: Notice[] = [];
  let next: { text: string; onLoss: () => Promise<unknown> } | undefined;
  let losses = 0;
  const server = net.createServer((client) => {
    const database = net.connect(Number(port || 5432), hostname);
    const parse = newParser(traffic, startups);
    const readNotices = newNoticeParser(notices, traffic);
    let hasResponse = true;
    let lose: (() => Promise<unknown>) | undefined;
    client.on('data', (bytes: Buffer) => {
      const isCancel = bytes.length === 16 && bytes.readUInt32BE(4) === cancelRequestCode;
      if (isCancel && cancelsLost < lostCancels) {
        cancelsLost += 1;
        client.destroy();
        return;
      }
      if (parse(bytes) && hasResponse) {
        traffic.roundTrips += 1;
        hasResponse = false;
      }
      if (next !== undefined && bytes.includes(next.text)) {
        lose = next.onLoss;
        next = undefined;
      }
      database.write(bytes);
    });
    database.on('data', (bytes: Buffer) => {
      hasResponse = true;
      if (lose !== undefined) {
        losses += 1;
        database.removeAllListeners('data').resume();
        void lose().finally(() => client.destroy());
        return;
      }
      readNotices(bytes);
      client.write(bytes);
    });
    for (const [one, other] of [
      [client, database],
      [database, client],
    ] as const) {
      sockets.add(one);
      one.on('error', () => undefined);
      one.on('close', () => {
        sockets.delete(one);
        other.destroySoon();
      });
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const proxyUrl = new URL(url);
  proxyUrl.hostname = '127.0.0.1';
  proxyUrl.port = String((server.address() as AddressInfo).port);
  const close = async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, 'close');
  };
  const loseNext: RecordingProxy['loseNext'] = (text, onLoss = async () => undefined) => {
    next = { text, onLoss };
  };
  return { url: proxyUrl.href, traffic, startups, notices, loseNext, losses: () => losses, close };
}

/** The messages in bytes that arrive in any pieces: a type, if it has one, and a length before each. */
function newMessageReader(hasType: () => boolean, onMessage: (type: string, body: Buffer) => void) {
  let rest: Buffer = Buffer.alloc(0);
  return (bytes: Buffer) => {
    rest = Buffer.concat([rest, bytes]);
    for (;;) {
      const head = hasType() ? 1 : 0;
      if (rest.length < head + 4) return;
      const end = head + rest.readUInt32BE(head);
      if (rest.length < end) return;
      const message = rest;
      rest = rest.subarray(end);
      onMessage(String.fromCharCode(message[0] ?? 0), message.subarray(head + 4, end));
    }
  };
}

function newNoticeParser(notices: Notice[], { statements }: Traffic): (bytes: Buffer) => void {
  return newMessageReader(
    () => true,
    (type, body) => {
      if (type !== 'N') return;
      const field = (code: string) => {
        const found = body
          .toString()
          .split('\0')
          .find((part) => part.startsWith(code));
        return found?.slice(1);
      };
      notices.push({ message: field('M') ?? '', detail: field('D'), statement: statements.at(-1) });
    },
  );
}

/**
 * Parses the client's side of the protocol (https://www.postgresql.org/docs/current/protocol-message-formats.html).
 * Returns true if these bytes contain a statement or a part of one.
 */
function newParser(traffic: Traffic, startups: string[][]): (bytes: Buffer) => boolean {
  const prepared = new Map<string, string>();
  let bound = '';
  let values: SentStatement['values'] = [];
  let isStarted = false;
  let hasStatement = false;
  const handle = (type: string, body: Buffer): boolean => {
    const words = body.toString().split('\0');
    const [first = '', second = ''] = words;
    if (type === 'P') prepared.set(first, second);
    else if (type === 'B') {
      bound = second;
      values = boundValues(body.subarray(Buffer.byteLength(first + second) + 2));
    } else if (type === 'E') traffic.statements.push({ name: bound, text: prepared.get(bound) ?? '?', values });
    else if (type === 'Q') traffic.statements.push({ name: '', text: first, values: [] });
    else return false;
    return true;
  };
  const read = newMessageReader(
    () => isStarted,
    (type, body) => {
      if (isStarted) hasStatement = handle(type, body) || hasStatement;
      else startups.push(body.subarray(4).toString().split('\0').filter(Boolean));
      isStarted = true;
    },
  );
  return (bytes) => {
    hasStatement = false;
    read(bytes);
    return hasStatement;
  };
}

/** The parameters of a Bind message, as texts: a list of formats, then each value after its length, or -1 for NULL. */
function boundValues(bytes: Buffer): SentStatement['values'] {
  let at = 2 + 2 * bytes.readInt16BE(0);
  const count = bytes.readInt16BE(at);
  at += 2;
  return Array.from({ length: count }, () => {
    const length = bytes.readInt32BE(at);
    at += 4 + Math.max(length, 0);
    return length < 0 ? null : bytes.subarray(at - length, at).toString();
  });
}

/** A short form of a statement: its first keyword and its tables. */
export function summarize(text: string): string {
  const tables = [...text.matchAll(/\b(?:FROM|JOIN|INTO|UPDATE) (?:LATERAL )?([a-z_]+)/g)].map(([, table]) => table);
  return [text.trim().split(/\s/, 1)[0], ...new Set(tables)].join(' ');
}
