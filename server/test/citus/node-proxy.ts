import { once } from 'node:events';
import net, { type AddressInfo, type Socket } from 'node:net';

/** https://www.postgresql.org/docs/current/protocol-message-formats.html */
const encryptionRequests = [80_877_103, 80_877_104];

/** `before`: the node never gets the statement. `after`: it runs the statement, and its response is lost. */
export type Cut = { statement: string; moment: 'before' | 'after' };

/** Forwards connections to a node. It can cut one at a statement; later connections are forwarded again. */
export class NodeProxy {
  readonly #server: net.Server;
  readonly #sockets = new Set<Socket>();
  #cut: Cut | undefined;
  cuts = 0;

  private constructor(node: { host: string; port: number }) {
    this.#server = net.createServer((client) => this.#forward(client, net.connect(node.port, node.host)));
  }

  static async start(node: { host: string; port: number }): Promise<NodeProxy> {
    const proxy = new NodeProxy(node);
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

  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #forward(client: Socket, node: Socket): void {
    const end = () => {
      client.destroy();
      node.destroy();
    };
    for (const socket of [client, node]) {
      this.#sockets.add(socket);
      socket.on('error', end).on('close', end);
      socket.once('close', () => this.#sockets.delete(socket));
    }
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
