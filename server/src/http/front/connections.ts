import type { Server, ServerResponse } from 'node:http';
import { Server as NetServer, type Socket } from 'node:net';
import { setImmediate as nextTick } from 'node:timers/promises';
import type { onSendHookHandler } from 'fastify';
import { limits } from '../../contract/limits.ts';
import type { Handler } from '../route-types.ts';
import type { WorkerContext } from '../workers/context.ts';
import type { Peers } from '../workers/peers.ts';
import { SharedSum } from '../workers/shared-sum.ts';
import { isInvalid, pendingResponse } from './socket-responses.ts';

/** Before the server stops listening, it accepts waiting connections for at least this many ticks of the event loop. */
const acceptTicksMin = 2;
/** If new connections keep arriving, it stops after this many ticks and this much time. */
const acceptTicksMax = 100;
const acceptMillisMax = 250;
/** The part of the connections from which on each new one closes an idle one: other workers need a moment to close theirs. */
const crowdedPart = 0.95;

/**
 * Limits the open connections of all workers: new ones replace those that have been open for longest without a request.
 * Tracks open connections and closes them at shutdown, so that every request that was sent on an open connection gets its
 * response. Closing a connection while a request is in transit would reset it. So a connection stays open until a response
 * with `Connection: close` was sent, or until it has been idle for a while, even in the middle of a request.
 */
export class Connections {
  #server: Server | undefined;
  readonly #sockets = new Set<Socket>();
  /** For clients that pipeline requests: the last response that is due on each connection. */
  readonly #lastResponse = new WeakMap<Socket, ServerResponse>();
  #accepted = 0;
  #isClosing = false;
  #whenEmpty: (() => void) | undefined;
  readonly #peers: Peers;
  /** Open connections of all workers. */
  readonly #open: SharedSum;
  readonly #max: number;
  readonly #crowded: number;
  /** Whether no connection of this worker was idle in this tick of the event loop. */
  #isBusy = false;

  constructor({ shared, worker, peers }: WorkerContext, connectionsMax: number = limits.connectionsMax) {
    this.#peers = peers;
    this.#open = new SharedSum(shared.connections, worker);
    this.#max = connectionsMax;
    this.#crowded = Math.floor(connectionsMax * crowdedPart);
    peers.on('makeRoom', () => {
      while (this.#open.total > this.#crowded && this.#closeIdle());
    });
  }

  /** Whether the service is shutting down. Then the last response on each connection has `Connection: close`. */
  get isClosing(): boolean {
    return this.#isClosing;
  }

  track(server: Server): void {
    this.#server = server;
    server.on('connection', (socket: Socket) => {
      this.#accepted += 1;
      if (this.#open.total >= this.#crowded) this.#makeRoom();
      if (!this.#open.tryIncrement(this.#max)) return void socket.destroy();
      this.#sockets.add(socket);
      socket.once('close', () => {
        this.#release(socket);
        if (this.#sockets.size === 0) this.#whenEmpty?.();
      });
      if (this.#isClosing) this.#closeWhenIdle(socket);
    });
  }

  /** Closes an idle connection, if this worker has one. Otherwise the other workers are asked to. */
  #makeRoom(): void {
    if (this.#isBusy || this.#closeIdle()) return;
    this.#isBusy = true;
    setImmediate(() => {
      this.#isBusy = false;
    });
    this.#peers.call('makeRoom');
  }

  #closeIdle(): boolean {
    for (const socket of this.#sockets) {
      if (pendingResponse(socket) !== undefined) continue;
      this.#release(socket);
      socket.destroySoon();
      return true;
    }
    return false;
  }

  /** It no longer counts, although it may take a moment to close. */
  #release(socket: Socket): void {
    if (this.#sockets.delete(socket)) this.#open.add(-1);
  }

  /** Takes note of each pipelined request as it arrives, whatever delays it later. */
  arrived(next: Handler): Handler {
    return (request, response) => {
      if (response.socket === null) this.#lastResponse.set(request.socket, response);
      next(request, response);
    };
  }

  /** Handles the pipelined requests of a connection one after the other: a response gets the socket when it is its turn. */
  inOrder(next: Handler): Handler {
    return (request, response) => {
      if (response.socket !== null) return next(request, response);
      const { socket } = request;
      // If the connection has ended, or the parser has rejected the rest of the request, the request is not handled.
      const isRejected = () => !socket.writable || (isInvalid(socket) && !request.complete);
      response.once('socket', () => isRejected() || next(request, response));
    };
  }

  /** A hook: during shutdown, the last response that is due on a connection has `Connection: close`. */
  readonly announceEnd: onSendHookHandler = (request, reply, payload, done) => {
    if (!this.#isClosing) return done(null, payload);
    // After this tick, requests that arrived in the same chunk have been parsed.
    setImmediate(() => {
      const last = this.#lastResponse.get(request.raw.socket);
      const isLast = last === undefined || last === reply.raw || last.closed;
      // During shutdown Fastify sets this header on every response.
      reply.raw.removeHeader('connection');
      reply.removeHeader('connection');
      if (isLast) reply.header('connection', 'close');
      done(null, payload);
    });
  };

  /** Stops listening. Resolves when all connections have ended. */
  async close(): Promise<void> {
    this.#isClosing = true;
    for (const socket of this.#sockets) this.#closeWhenIdle(socket);
    await this.#acceptWaiting();
    // Closes only the listening socket: `close` of an HTTP server would also close idle connections.
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

  #closeWhenIdle(socket: Socket): void {
    const timer = setTimeout(async () => {
      const { bytesRead } = socket;
      // If the process stood still, bytes that have arrived in the meantime are read after the timers.
      await nextTick();
      const response = pendingResponse(socket);
      if (response !== undefined) response.once('close', () => this.#closeWhenIdle(socket));
      else if (socket.bytesRead > bytesRead) this.#closeWhenIdle(socket);
      else socket.destroySoon();
    }, limits.lingerMillis);
    socket.once('close', () => clearTimeout(timer));
  }
}
