import { once } from 'node:events';
import http from 'node:http';
import { type AddressInfo, createServer, type Socket } from 'node:net';

/** One request as it arrived at the upstream. */
export type ReceivedRequest = { head: string; body: Buffer };

/** Sends the bytes of a response. It may send less than a whole one, or nothing. */
export type Script = (socket: Socket, request: ReceivedRequest) => void | Promise<void>;

/**
 * An upstream that sends exactly the bytes that a test wants. It reads requests with a length or in chunks, and keeps
 * connections open.
 */
export class ScriptedUpstream {
  readonly requests: ReceivedRequest[] = [];
  /** Whether it only reads, without an end of a request. */
  isSilent = false;
  /** Called when bytes arrive, instead of anything else. */
  onBytes: ((socket: Socket) => void) | undefined;
  script: Script = (socket) => void socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
  /** Open connections, with the bytes that are not yet a whole request. */
  readonly #sockets = new Map<Socket, Buffer>();
  readonly #server = createServer((socket) => this.#serve(socket));

  async listen(): Promise<this> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return this;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/base/v1`;
  }

  /** Bytes on open connections that belong to no whole request. */
  get unread(): number {
    return [...this.#sockets.values()].reduce((sum, { length }) => sum + length, 0);
  }

  get connections(): number {
    return this.#sockets.size;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets.keys()) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #serve(socket: Socket): void {
    this.#sockets.set(socket, Buffer.alloc(0));
    socket.on('close', () => this.#sockets.delete(socket)).on('error', () => undefined);
    socket.on('data', (chunk: Buffer) => {
      if (this.isSilent) return;
      if (this.onBytes !== undefined) return this.onBytes(socket);
      let bytes = Buffer.concat([this.#sockets.get(socket) ?? Buffer.alloc(0), chunk]);
      for (let request = readRequest(bytes); request !== undefined; request = readRequest(bytes)) {
        bytes = bytes.subarray(request.bytes);
        this.requests.push(request);
        void this.script(socket, request);
      }
      this.#sockets.set(socket, bytes);
    });
  }
}

function readRequest(bytes: Buffer): (ReceivedRequest & { bytes: number }) | undefined {
  const headEnd = bytes.indexOf('\r\n\r\n');
  if (headEnd === -1) return undefined;
  const head = bytes.subarray(0, headEnd).toString('latin1');
  const start = headEnd + 4;
  if (!/\r\ntransfer-encoding: chunked/i.test(head)) {
    const length = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0);
    if (bytes.length < start + length) return undefined;
    return { head, body: bytes.subarray(start, start + length), bytes: start + length };
  }
  const chunks: Buffer[] = [];
  for (let at = start; ; ) {
    const lineEnd = bytes.indexOf('\r\n', at);
    if (lineEnd === -1) return undefined;
    const length = Number.parseInt(bytes.subarray(at, lineEnd).toString(), 16);
    if (bytes.length < lineEnd + 2 + length + 2) return undefined;
    chunks.push(bytes.subarray(lineEnd + 2, lineEnd + 2 + length));
    at = lineEnd + 2 + length + 2;
    if (length === 0) return { head, body: Buffer.concat(chunks), bytes: at };
  }
}

/** The lines of a head by name in lower case. */
export const headersOf = ({ head }: ReceivedRequest): Record<string, string> =>
  Object.fromEntries(
    head
      .split('\r\n')
      .slice(1)
      .map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 2)]),
  );

/** A request of a client, with the chunks of its response as they arrived. `isComplete` is false if it was broken off. */
export type Exchange = { status: number; headers: http.IncomingHttpHeaders; body: Buffer; isComplete: boolean };

export async function exchange(
  base: string,
  method: string,
  path: string,
  { headers = {}, body }: { headers?: http.OutgoingHttpHeaders; body?: Buffer | AsyncIterable<Buffer> } = {},
): Promise<Exchange> {
  const { hostname, port } = new URL(base);
  const request = http.request({ hostname, port, method, path, headers, agent: false });
  const responded = once(request, 'response') as Promise<[http.IncomingMessage]>;
  request.on('error', () => undefined);
  if (body === undefined || Buffer.isBuffer(body)) request.end(body);
  else
    void (async () => {
      for await (const chunk of body) if (!request.write(chunk)) await once(request, 'drain');
      request.end();
    })().catch(() => undefined);
  const [response] = await responded;
  const chunks: Buffer[] = [];
  response.on('error', () => undefined);
  response.on('data', (chunk) => chunks.push(chunk));
  await new Promise((resolve) => response.once('close', resolve));
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    body: Buffer.concat(chunks),
    isComplete: response.complete,
  };
}
