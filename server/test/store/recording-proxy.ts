import { once } from 'node:events';
import net, { type AddressInfo } from 'node:net';

/** The log of a client: every executed statement, and the number of round trips. */
export type Traffic = { statements: SentStatement[]; roundTrips: number };
export type SentStatement = { name: string; text: string; values: (string | null)[] };

export type RecordingProxy = { url: string; traffic: Traffic; startups: string[][]; close: () => Promise<void> };

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
  const server = net.createServer((client) => {
    const database = net.connect(Number(port), hostname);
    const parse = newParser(traffic, startups);
    let hasResponse = true;
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
      database.write(bytes);
    });
    database.on('data', (bytes) => {
      hasResponse = true;
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
  return { url: proxyUrl.href, traffic, startups, close };
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
  let rest: Buffer = Buffer.alloc(0);
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
  return (bytes) => {
    rest = Buffer.concat([rest, bytes]);
    let hasStatement = false;
    for (;;) {
      const head = isStarted ? 1 : 0;
      if (rest.length < head + 4) return hasStatement;
      const end = head + rest.readUInt32BE(head);
      if (rest.length < end) return hasStatement;
      const body = rest.subarray(head + 4, end);
      if (isStarted) hasStatement = handle(String.fromCharCode(rest[0] ?? 0), body) || hasStatement;
      else startups.push(body.subarray(4).toString().split('\0').filter(Boolean));
      isStarted = true;
      rest = rest.subarray(end);
    }
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
