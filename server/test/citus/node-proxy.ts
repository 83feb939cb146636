import { once } from 'node:events';
import net, { type AddressInfo, type Socket } from 'node:net';

/** https://www.postgresql.org/docs/current/protocol-message-formats.html */
const encryptionRequests = [80_877_103, 80_877_104];

/** `before`: the node never gets the statement. `after`: it runs the statement, and its response is lost. */
export type Cut = { statement: string; moment: 'before' | 'after' };

type Node = { host: string; port: number };

/**
 * Forwards connections to a node. It can cut one at a statement; later connections are forwarded again. Or it becomes silent,
 * as a node that hangs: it accepts connections, and nothing arrives.
 */
export class NodeProxy {
  readonly #server: net.Server;
  readonly #sockets = new Set<Socket>();
  #cut: Cut | undefined;
  #isSilent = false;
  cuts = 0;

  private constructor({ host, port }: Node, readsStatements: boolean) {
    this.#server = net.createServer((client) => {
      const node = net.connect(port, host);
      this.#track(client, node);
      if (readsStatements) this.#forwardStatements(client, node);
      else client.pipe(node).pipe(client);
    });
  }

  /** `readsStatements`: needs nodes that accept connections without encryption. */
  static async start(node: Node, { readsStatements = false } = {}): Promise<NodeProxy> {
    const proxy = new NodeProxy(node, readsStatements);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** The next connection that sends the statement is cut. */
  cutAt(cut: Cut): void {
    this.#cut = cut;
  }

  setSilent(isSilent: boolean): void {
    this.#isSilent = isSilent;
    for (const socket of this.#sockets) this.#pauseOrResume(socket);
  }

  #pauseOrResume(socket: Socket): void {
    if (this.#isSilent) socket.pause();
    else socket.resume();
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #track(client: Socket, node: Socket): void {
    const end = () => {
      client.destroy();
      node.destroy();
    };
    for (const socket of [client, node]) {
      this.#sockets.add(socket);
      socket.on('error', end).on('close', end);
      socket.once('close', () => this.#sockets.delete(socket));
      // After the event in which it begins to read.
      if (this.#isSilent) setImmediate(() => this.#pauseOrResume(socket));
    }
  }

  #forwardStatements(client: Socket, node: Socket): void {
    const end = () => client.destroy();
    let received: Buffer = Buffer.alloc(0);
    let isStarted = false;
    let isDeaf = false;
    node.on('data', (data) => (isDeaf ? end() : client.write(data)));
    client.on('data', (data: Buffer) => {
      received = Buffer.concat([received, data]);
      for (;;) {
        // The first message has no type.
        const start = isStarted ? 1 : 0;
        if (received.length < start + 4) return;
        const size = start + received.readInt32BE(start);
        if (received.length < size) return;
        const message = received.subarray(0, size);
        received = received.subarray(size);
        if (!isStarted && size === 8 && encryptionRequests.includes(message.readInt32BE(4))) {
          // Without encryption the statements can be read.
          client.write('N');
          continue;
        }
        isStarted = true;
        if (this.#cut !== undefined && message.includes(this.#cut.statement)) {
          isDeaf = this.#cut.moment === 'after';
          this.#cut = undefined;
          this.cuts += 1;
          if (!isDeaf) return end();
        }
        node.write(message);
      }
    });
  }
}
