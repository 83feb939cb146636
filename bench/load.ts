import { connect, type Socket } from 'node:net';

export type Load = {
  port: number;
  /** The next request, whole, as bytes or text. */
  next: () => string;
  connections: number;
  seconds: number;
  /** Every answer must have this status. */
  status: number;
};

export type Loaded = { requests: number; seconds: number; bytes: number };

/** Keeps one request in flight on each connection for a while. Reads into one buffer, so that the client costs little. */
export async function load({ port, next, connections, seconds, status }: Load): Promise<Loaded> {
  let requests = 0;
  let bytes = 0;
  return withClients(port, connections, async (clients) => {
    const start = performance.now();
    const end = start + seconds * 1000;
    await Promise.all(
      clients.map(async (client) => {
        while (performance.now() < end) {
          const answer = await client.ask(next());
          if (answer.status !== status) throw new Error(`answered ${answer.status}, not ${status}`);
          requests += 1;
          bytes += answer.bytes;
        }
      }),
    );
    return { requests, seconds: (performance.now() - start) / 1000, bytes };
  });
}

/** Asks so many times, one request in flight on each connection. */
export function loadCount(port: number, next: () => string, connections: number, count: number): Promise<void> {
  let left = count;
  return withClients(port, connections, async (clients) => {
    const ask = async (client: Client) => {
      while ((left -= 1) >= 0) {
        const { status } = await client.ask(next());
        if (status !== 200) throw new Error(`answered ${status}, not 200`);
      }
    };
    await Promise.all(clients.map(ask));
  });
}

/** Opens connections, and closes them whatever happens. */
export async function withClients<T>(port: number, count: number, work: (clients: Client[]) => Promise<T>): Promise<T> {
  const clients: Client[] = [];
  try {
    for (let at = 0; at < count; at += 1) clients.push(await Client.open(port));
    return await work(clients);
  } finally {
    for (const client of clients) client.close();
  }
}

/** The head of a 304 is left out. */
export type Answer = { status: number; bytes: number; head: string };

const headEnd = Buffer.from('\r\n\r\n');

/** One kept-alive connection. Only the head of an answer is kept; of the body, bytes are counted. */
export class Client {
  readonly #socket: Socket;
  #head: Buffer | undefined;
  #left = 0;
  #answer: Answer = { status: 0, bytes: 0, head: '' };
  #resolve: ((answer: Answer) => void) | undefined;
  #reject: ((error: Error) => void) | undefined;
  #lost: Error | undefined;

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
            client.#take(buffer.subarray(0, size) as Buffer);
            return true;
          },
        },
      });
      const client = new Client(socket);
      const fail = (error: Error) => {
        client.#lost ??= error;
        reject(error);
        client.#reject?.(error);
      };
      socket.once('error', fail);
      socket.once('close', () => fail(new Error('the connection was closed')));
      socket.once('connect', () => resolve(client));
    });
  }

  ask(request: string): Promise<Answer> {
    return new Promise((resolve, reject) => {
      if (this.#lost !== undefined) return reject(this.#lost);
      this.#resolve = resolve;
      this.#reject = reject;
      this.#socket.write(request, 'latin1');
    });
  }

  close(): void {
    this.#reject = undefined;
    this.#socket.destroy();
  }

  #take(bytes: Buffer): void {
    if (this.#left > 0) {
      this.#count(bytes.length);
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
    // Of an answer without a body nothing more is of interest, and reading it would slow the client down.
    const text = status === 304 ? '' : head.toString('latin1', 0, end);
    this.#left = status === 304 ? 0 : Number(/\r\ncontent-length: *(\d+)/i.exec(text)?.[1] ?? 0);
    this.#answer = { status, bytes: head.length, head: text };
    this.#left -= head.length - end - headEnd.length;
    if (this.#left === 0) this.#done();
  }

  #count(bytes: number): void {
    this.#left -= bytes;
    this.#answer.bytes += bytes;
    if (this.#left === 0) this.#done();
  }

  #done(): void {
    this.#resolve?.(this.#answer);
  }
}
