import type { Server, ServerResponse } from 'node:http';
import { Server as NetServer, type Socket } from 'node:net';
import { setImmediate as nextTick } from 'node:timers/promises';
import type { onSendHookHandler } from 'fastify';
import { limits } from '../../contract/limits.ts';
import type { Handler } from '../route-types.ts';
import { pendingResponse } from './socket-responses.ts';

/** Before the server stops listening, it accepts waiting connections for at least so many ticks of the event loop. */
const acceptTicksMin = 2;
/** While more connections keep coming, it stops after so many ticks and so much time. */
const acceptTicksMax = 100;
const acceptMillisMax = 250;

/**
 * The open connections, and how they end when the service stops: every request that was sent on an open connection gets
 * its response. Closing a connection while a request is on its way would reset it. So a connection stays open until a
 * response has announced its end, or until it has been quiet for a while; also one that has sent half a request.
 */
export class Connections {
  #server: Server | undefined;
  readonly #sockets = new Set<Socket>();
  /** For clients that send requests without waiting for responses: the last of the responses that are due. */
  readonly #lastResponse = new WeakMap<Socket, ServerResponse>();
  #accepted = 0;
  #isClosing = false;
  #whenEmpty: (() => void) | undefined;

  /** The service is stopping: each response must announce the end of its connection. */
  get isClosing(): boolean {
    return this.#isClosing;
  }

  track(server: Server): void {
    this.#server = server;
    server.on('connection', (socket: Socket) => {
      this.#accepted += 1;
      this.#sockets.add(socket);
      socket.once('close', () => {
        this.#sockets.delete(socket);
        if (this.#sockets.size === 0) this.#whenEmpty?.();
      });
      if (this.#isClosing) this.#closeWhenQuiet(socket);
    });
  }

  /** Requests that a client sends without waiting for responses are handled one after the other. */
  inOrder(next: Handler): Handler {
    return (request, response) => {
      if (response.socket !== null) return next(request, response);
      const { socket } = request;
      const last = this.#lastResponse.get(socket);
      const previous = last === undefined || last.closed ? pendingResponse(socket) : last;
      this.#lastResponse.set(socket, response);
      // A request that cannot get its response any more is not handled.
      previous?.once('close', () => socket.writable && next(request, response));
    };
  }

  /** A hook: while the service stops, the last response that is due on a connection announces its end. */
  readonly announceEnd: onSendHookHandler = (request, reply, payload, done) => {
    if (!this.#isClosing) return done(null, payload);
    // By then, requests that arrived in the same chunk have been read.
    setImmediate(() => {
      const last = this.#lastResponse.get(request.raw.socket);
      const isLast = last === undefined || last === reply.raw || last.closed;
      // Fastify has set it on every response.
      reply.raw.removeHeader('connection');
      reply.removeHeader('connection');
      if (isLast) reply.header('connection', 'close');
      done(null, payload);
    });
  };

  /** Stops listening. Resolves when all connections have ended. */
  async close(): Promise<void> {
    this.#isClosing = true;
    for (const socket of this.#sockets) this.#closeWhenQuiet(socket);
    await this.#acceptWaiting();
    // Closes only the port: `close` of an HTTP server would also close quiet connections.
    if (this.#server !== undefined) NetServer.prototype.close.call(this.#server);
    if (this.#sockets.size > 0) await new Promise<void>((resolve) => (this.#whenEmpty = resolve));
  }

  /** The operating system has accepted connections that Node has not seen yet. Their clients may have sent requests. */
  async #acceptWaiting(): Promise<void> {
    const deadline = performance.now() + acceptMillisMax;
    for (let tick = 1, before = -1; tick <= acceptTicksMin || this.#accepted > before; tick += 1) {
      if (tick > acceptTicksMax && performance.now() > deadline) return;
      before = this.#accepted;
      await nextTick();
    }
  }

  #closeWhenQuiet(socket: Socket): void {
    const timer = setTimeout(() => {
      const response = pendingResponse(socket);
      if (response === undefined) socket.destroySoon();
      else response.once('close', () => this.#closeWhenQuiet(socket));
    }, limits.lingerMillis);
    socket.once('close', () => clearTimeout(timer));
  }
}
