import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { Server as NetServer, type Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { onSendHookHandler } from 'fastify';
import { limits } from '../../contract/limits.ts';
import { answerOn } from '../request/errors.ts';

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** Connections that wait are taken one in each turn of the event loop, before the service stops listening. */
const turnsMin = 2;
/** While more keep coming it goes on for so many turns, and for so long. */
const turnsMax = 100;
const takeMillisMax = 250;

/**
 * The connections, and how they end when the service stops: no request that was sent on an open one goes unanswered.
 * Closing a connection under a request that is on its way would reset it. So each is kept until its client was told with
 * an answer, or has been quiet for a while; also one that has sent half a request.
 */
export class Connections {
  readonly #server: Server;
  readonly #next: Handler;
  readonly #sockets = new Set<Socket>();
  /** Where a client sends requests without waiting for answers: the answer that is last in line. */
  readonly #lastInLine = new WeakMap<Socket, ServerResponse>();
  #taken = 0;
  #isClosing = false;
  #whenEmpty: (() => void) | undefined;

  constructor(server: Server, next: Handler) {
    this.#server = server;
    this.#next = next;
    server.on('connection', (socket: Socket) => {
      this.#taken += 1;
      this.#sockets.add(socket);
      socket.once('close', () => {
        this.#sockets.delete(socket);
        if (this.#sockets.size === 0) this.#whenEmpty?.();
      });
      if (this.#isClosing) this.#closeWhenQuiet(socket);
    });
  }

  /** Every request passes here. Those that a client sends without waiting for answers are done one after the other. */
  readonly handle: Handler = (request, response) => {
    if (response.socket !== null) return this.#next(request, response);
    const { socket } = request;
    const last = this.#lastInLine.get(socket);
    const before = last === undefined || last.closed ? answerOn(socket) : last;
    this.#lastInLine.set(socket, response);
    // What cannot be answered any more is not done.
    before?.once('close', () => socket.writable && this.#next(request, response));
  };

  /** While the service stops, the last answer in line says that the connection ends. */
  readonly tell: onSendHookHandler = (request, reply, payload, done) => {
    if (!this.#isClosing) return done(null, payload);
    // What came in the same piece has been read by then.
    setImmediate(() => {
      const last = this.#lastInLine.get(request.raw.socket);
      const isLast = last === undefined || last === reply.raw || last.closed;
      // The framework means to close with each.
      reply.raw.removeHeader('connection');
      reply.removeHeader('connection');
      if (isLast) reply.header('connection', 'close');
      done(null, payload);
    });
  };

  /** Resolves when all have ended. */
  async close(): Promise<void> {
    this.#isClosing = true;
    for (const socket of this.#sockets) this.#closeWhenQuiet(socket);
    await this.#takeWaiting();
    // Only the port: the same method of an HTTP server would cut quiet connections.
    NetServer.prototype.close.call(this.#server);
    if (this.#sockets.size > 0) await new Promise<void>((resolve) => (this.#whenEmpty = resolve));
  }

  /** The system has accepted connections that we have not seen yet; their clients may have sent requests. */
  async #takeWaiting(): Promise<void> {
    const deadline = performance.now() + takeMillisMax;
    for (let turn = 1, known = -1; turn <= turnsMin || this.#taken > known; turn += 1) {
      if (turn > turnsMax && performance.now() > deadline) return;
      known = this.#taken;
      await nextTurn();
    }
  }

  #closeWhenQuiet(socket: Socket): void {
    const timer = setTimeout(() => {
      const response = answerOn(socket);
      if (response === undefined) socket.destroySoon();
      else response.once('close', () => this.#closeWhenQuiet(socket));
    }, limits.lingerMillis);
    socket.once('close', () => clearTimeout(timer));
  }
}
