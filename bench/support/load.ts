import { connect, type Socket } from 'node:net';

export type LoadOptions = {
  port: number;
  /** Returns the text of the next request, head and body. */
  next: () => string;
  connections: number;
  seconds: number;
  /** The expected status of every response. */
  status: number;
};

export type LoadResult = { requests: number; seconds: number; bytes: number };

/** Keeps one request in flight on each connection. Each client reads into one buffer, to use little CPU time. */
export async function load({ port, next, connections, seconds, status }: LoadOptions): Promise<LoadResult> {
  let requests = 0;
  let bytes = 0;
  return withClients(port, connections, async (clients) => {
    const start = performance.now();
    const end = start + seconds * 1000;
    await Promise.all(
      clients.map(async (client) => {
        while (performance.now() < end) {
          const response = await client.request(next());
          if (response.status !== status) throw new Error(`status ${response.status}, not ${status}`);
          requests += 1;
          bytes += response.bytes;
        }
      }),
    );
    return { requests, seconds: (performance.now() - start) / 1000, bytes };
  });
}

/** Sends this many requests, with one request in flight on each connection. */
export function loadCount(port: number, next: () => string, connections: number, count: number): Promise<void> {
  let left = count;
  return withClients(port, connections, async (clients) => {
    const sendRequests = async (client: Client) => {
      while ((left -= 1) >= 0) {
        const { status } = await client.request(next());
        if (status !== 200) throw new Error(`status ${status}, not 200`);
      }
    };
    await Promise.all(clients.map(sendRequests));
  });
}

/** Opens connections for `work` and always closes them. */
export async function withClients<T>(port: number, count: number, work: (clients: Client[]) => Promise<T>): Promise<T> {
  const clients: Client[] = [];
  try {
    for (let at = 0; at < count; at += 1) clients.push(await Client.open(port));
    return await work(clients);
  } finally {
    for (const client of clients) client.close();
  }
}

/** The head of a 304 is empty. */
export type LoadResponse = { status: number; bytes: number; head: string };

const headEnd = Buffer.from('\r\n\r\n');
/** The end of a body in chunks, which is the last of a read: one request is in flight. */
const lastChunk = '0\r\n\r\n';

/** One keep-alive connection. It stores the head of a response; of the body it only counts the bytes. */
export class Client {
  readonly #socket: Socket;
  #head: Buffer | undefined;
  #left = 0;
  /** The last bytes of a body in chunks. */
  #tail = '';
  #response: LoadResponse = { status: 0, bytes: 0, head: '' };
  #resolve: ((response: LoadResponse) => void) | undefined;
  #reject: ((error: Error) => void) | undefined;
  #error: Error | undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
  }

  static open(port: number): Promise<Client> {
    return new Promise((resolve, reject) => {
      const socket: Socket = connect({
        port,
        host: '127.0.0.1',
        noDelay: true,
        onread: {
          buffer: Buffer.allocUnsafe(262_144),
          callback: (size: number, buffer: Uint8Array) => {
            client.#receive(buffer.subarray(0, size) as Buffer);
            return true;
          },
        },
      });
      const client = new Client(socket);
      const fail = (error: Error) => {
        client.#error ??= error;
        reject(error);
        client.#reject?.(error);
      };
      socket.once('error', fail);
      socket.once('close', () => fail(new Error('the connection was closed')));
      socket.once('connect', () => resolve(client));
    });
  }

  request(request: string): Promise<LoadResponse> {
    return new Promise((resolve, reject) => {
      if (this.#error !== undefined) return reject(this.#error);
      this.#resolve = resolve;
      this.#reject = reject;
      this.#socket.write(request, 'latin1');
    });
  }

  close(): void {
    this.#reject = undefined;
    this.#socket.destroy();
  }

  #receive(bytes: Buffer): void {
    if (this.#left > 0) {
      this.#count(bytes);
      return;
    }
    const head = this.#head === undefined ? bytes : Buffer.concat([this.#head, bytes]);
    const end = head.indexOf(headEnd);
    if (end === -1) {
      this.#head = Buffer.from(head);
      return;
    }
    this.#head = undefined;
    const status = Number(head.toString('latin1', 9, 12));
    // The head of a response without a body is not needed, and decoding it would slow the client down.
    const text = status === 304 ? '' : head.toString('latin1', 0, end);
    const isChunked = /\r\ntransfer-encoding: *chunked/i.test(text);
    this.#left = isChunked ? Number.POSITIVE_INFINITY : Number(/\r\ncontent-length: *(\d+)/i.exec(text)?.[1] ?? 0);
    this.#response = { status, bytes: 0, head: text };
    this.#tail = '';
    this.#count(head, end + headEnd.length);
  }

  #count(bytes: Buffer, from = 0): void {
    this.#response.bytes += bytes.length;
    this.#left -= bytes.length - from;
    if (this.#left === Number.POSITIVE_INFINITY) {
      this.#tail = (this.#tail + bytes.toString('latin1', Math.max(from, bytes.length - lastChunk.length))).slice(
        -lastChunk.length,
      );
      if (this.#tail === lastChunk) this.#left = 0;
    }
    if (this.#left === 0) this.#done();
  }

  #done(): void {
    this.#resolve?.(this.#response);
  }
}
