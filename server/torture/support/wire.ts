import net from 'node:net';

/** An answer as it came, or why none came whole. */
export type Heard = { status: number; headers: Record<string, string>; body: string } | { cut: string };

type Waiting = (heard: Heard) => void;

/** One connection, byte by byte: requests may be sent in pieces or several at once. Answers come in their order. */
export class Wire {
  readonly #socket: net.Socket;
  readonly #waiting: Waiting[] = [];
  #bytes = Buffer.alloc(0);
  /** Why nothing more will come. */
  closed: string | undefined;
  /** An answer has said `Connection: close`. */
  isTold = false;
  readonly openedAt: number;
  readonly whenClosed: Promise<void>;

  private constructor(socket: net.Socket) {
    this.#socket = socket;
    this.openedAt = performance.now();
    this.whenClosed = new Promise((resolve) => {
      const close = (why: string) => {
        this.closed ??= why;
        for (const waiting of this.#waiting.splice(0)) waiting({ cut: this.closed });
        resolve();
      };
      socket.on('data', (chunk: Buffer) => this.#take(chunk));
      socket.on('end', () => close('ended'));
      socket.on('error', (error: NodeJS.ErrnoException) => close(error.code ?? error.message));
      socket.on('close', () => close('closed'));
    });
  }

  /** Rejects where the connection is refused. */
  static open(port: number): Promise<Wire> {
    return new Promise((resolve, reject) => {
      const socket = net.connect({ port, host: '127.0.0.1', noDelay: true });
      socket.once('error', reject);
      socket.once('connect', () => {
        socket.off('error', reject);
        resolve(new Wire(socket));
      });
    });
  }

  write(bytes: string): void {
    if (this.closed === undefined) this.#socket.write(bytes);
  }

  /** The next answer that nobody else waits for. */
  hear(): Promise<Heard> {
    if (this.closed !== undefined) return Promise.resolve({ cut: this.closed });
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  close(): void {
    this.#socket.destroy();
  }

  #take(chunk: Buffer): void {
    this.#bytes = Buffer.concat([this.#bytes, chunk]);
    for (;;) {
      const end = this.#bytes.indexOf('\r\n\r\n');
      if (end === -1) return;
      const [first = '', ...lines] = this.#bytes.toString('latin1', 0, end).split('\r\n');
      const headers = Object.fromEntries(
        lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
      );
      const from = end + 4;
      const to = from + Number(headers['content-length']);
      if (!(this.#bytes.length >= to)) return;
      const body = this.#bytes.toString('utf8', from, to);
      this.#bytes = this.#bytes.subarray(to);
      if (headers.connection === 'close') this.isTold = true;
      this.#waiting.shift()?.({ status: Number(first.split(' ')[1]), headers, body });
    }
  }
}

/** A request as bytes. */
export function bytesOf(method: string, path: string, key: string, body = '', type = 'application/json'): string {
  const length = body === '' ? '' : `Content-Type: ${type}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n`;
  return `${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${key}\r\n${length}\r\n${body}`;
}
