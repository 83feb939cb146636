import net from 'node:net';

/** A response, or the reason why it is missing or incomplete. */
export type RawResult = { status: number; headers: Record<string, string>; body: string } | { cut: string };

type Waiter = (result: RawResult) => void;

/** One raw connection: requests can be sent in parts or pipelined. Responses arrive in order. */
export class RawConnection {
  readonly #socket: net.Socket;
  readonly #waiters: Waiter[] = [];
  #bytes = Buffer.alloc(0);
  /** The reason why the connection is closed. */
  closed: string | undefined;
  /** A response had `Connection: close`. */
  isCloseAnnounced = false;
  readonly openedAt: number;
  readonly whenClosed: Promise<void>;

  private constructor(socket: net.Socket) {
    this.#socket = socket;
    this.openedAt = performance.now();
    this.whenClosed = new Promise((resolve) => {
      const close = (why: string) => {
        this.closed ??= why;
        for (const waiter of this.#waiters.splice(0)) waiter({ cut: this.closed });
        resolve();
      };
      socket.on('data', (chunk: Buffer) => this.#receive(chunk));
      socket.on('end', () => close('ended'));
      socket.on('error', (error: NodeJS.ErrnoException) => close(error.code ?? error.message));
      socket.on('close', () => close('closed'));
    });
  }

  /** Rejects when the connection is refused. */
  static open(port: number): Promise<RawConnection> {
    return new Promise((resolve, reject) => {
      const socket = net.connect({ port, host: '127.0.0.1', noDelay: true });
      socket.once('error', reject);
      socket.once('connect', () => {
        socket.off('error', reject);
        resolve(new RawConnection(socket));
      });
    });
  }

  write(bytes: string): void {
    if (this.closed === undefined) this.#socket.write(bytes);
  }

  /** The next response that no earlier call waits for. */
  nextResponse(): Promise<RawResult> {
    if (this.closed !== undefined) return Promise.resolve({ cut: this.closed });
    return new Promise((resolve) => this.#waiters.push(resolve));
  }

  close(): void {
    this.#socket.destroy();
  }

  #receive(chunk: Buffer): void {
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
      if (headers.connection === 'close') this.isCloseAnnounced = true;
      this.#waiters.shift()?.({ status: Number(first.split(' ')[1]), headers, body });
    }
  }
}

/** The bytes of a request. */
export function encodeRequest(method: string, path: string, key: string, body = '', type = 'application/json'): string {
  const length = body === '' ? '' : `Content-Type: ${type}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n`;
  return `${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${key}\r\n${length}\r\n${body}`;
}
