import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyBaseLogger } from 'fastify';
import { limits } from '../contract/limits.ts';
import { overloaded } from '../domain/errors.ts';
import { hasBody } from './body.ts';
import { answerError } from './errors.ts';
import type { Metrics } from './metrics.ts';
import { requestIdOf } from './observe.ts';

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** Asked by what watches over the service, just when it has too much to do. */
const always = ['/health/live', '/health/ready', '/metrics'];

const isWorkedOn = Symbol('whether an answer is still to come');
type Watched = ServerResponse & { [isWorkedOn]?: boolean };

export type GateOptions = {
  in_flight_max: number;
  metrics: Metrics;
  logger: FastifyBaseLogger;
  /** Milliseconds that only go forward. */
  now?: () => number;
};

/**
 * Stands before everything else. A request that could only be answered late is refused at once, with a 503 that costs
 * next to nothing, so that those let in are answered in time, and memory stays bounded:
 *
 * - One turn of the event loop takes up all requests that have arrived. From the moment that answering them has taken
 *   too long, the rest of them is refused: whoever comes in the next turn need not wait for a longer one.
 * - So many requests are worked on at once, and no more.
 * - Answers that wait for their readers hold so much memory together; beyond it the slowest reader is cut off.
 */
export class Gate {
  readonly #options: GateOptions;
  readonly #now: () => number;
  readonly #refused = new WeakSet<IncomingMessage>();
  /** Answers that are whole but not yet taken, in that order, with their bytes when last looked at. */
  readonly #unread = new Map<ServerResponse, number>();
  #unreadBytes = 0;
  #inFlight = 0;
  #turnBegan: number | undefined;
  #turnRequests = 0;
  #refusals = 0;

  constructor(options: GateOptions) {
    this.#options = options;
    this.#now = options.now ?? performance.now.bind(performance);
    options.metrics.watchInFlight(() => this.#inFlight);
  }

  /** What comes next gets those that are let in; and those refused whose body is not simply dropped. */
  before(next: Handler): Handler {
    const [answered, closed] = this.#listeners();
    return (request, response) => {
      if (this.#isTooMuch() && !always.includes(request.url ?? '')) return this.#refuse(request, response, next);
      this.#inFlight += 1;
      (response as Watched)[isWorkedOn] = true;
      response.on('prefinish', answered).on('close', closed);
      next(request, response);
    };
  }

  /** Refused already: to be said by whoever reads its body. */
  hasRefused(request: IncomingMessage): boolean {
    return this.#refused.has(request);
  }

  /** The same two for all answers, so that none needs functions of its own. */
  #listeners(): [(this: Watched) => void, (this: Watched) => void] {
    const gate = this;
    const done = (response: Watched) => {
      if (response[isWorkedOn]) gate.#inFlight -= 1;
      response[isWorkedOn] = false;
    };
    return [
      function () {
        done(this);
        if (this.socket?.writableLength) gate.#keep(this);
      },
      function () {
        done(this);
        gate.#drop(this);
      },
    ];
  }

  #isTooMuch(): boolean {
    const now = this.#now();
    if (this.#turnBegan === undefined) {
      this.#turnBegan = now;
      this.#turnRequests = 0;
      setImmediate(this.#endTurn);
    }
    this.#turnRequests += 1;
    if (this.#inFlight >= this.#options.in_flight_max) return true;
    return this.#turnRequests > limits.turnRequestsMin && now - this.#turnBegan > limits.turnMillisMax;
  }

  readonly #endTurn = (): void => {
    this.#turnBegan = undefined;
  };

  /** An answer that the system did not take at once. The longer one has waited, the sooner its reader is cut off. */
  #keep(answer: ServerResponse): void {
    this.#look(answer);
    if (this.#unreadBytes <= limits.unreadBytesMax) return;
    for (const one of this.#unread.keys()) this.#look(one);
    for (const slowest of this.#unread.keys()) {
      if (this.#unreadBytes <= limits.unreadBytesMax || slowest === answer) return;
      this.#drop(slowest);
      slowest.destroy();
    }
  }

  #look(answer: ServerResponse): void {
    const bytes = answer.socket?.writableLength ?? 0;
    this.#unreadBytes += bytes - (this.#unread.get(answer) ?? 0);
    this.#unread.set(answer, bytes);
  }

  #drop(answer: ServerResponse): void {
    this.#unreadBytes -= this.#unread.get(answer) ?? 0;
    this.#unread.delete(answer);
  }

  #refuse(request: IncomingMessage, response: ServerResponse, next: Handler): void {
    const { metrics, logger } = this.#options;
    this.#tell();
    if (!isSimplyDropped(request, response)) {
      this.#refused.add(request);
      return next(request, response);
    }
    metrics.count(request.method ?? '', 'refused', 503, 0);
    answerError(response, overloaded, requestIdOf(request), logger);
  }

  /** One line a second at most: a line a request would make it worse. */
  #tell(): void {
    this.#refusals += 1;
    if (this.#refusals > 1) return;
    setTimeout(() => {
      const refused = this.#refusals;
      this.#refusals = 0;
      this.#options.logger.warn({ refused, in_flight: this.#inFlight }, 'overloaded: requests were refused');
    }, limits.overloadLineMillis).unref();
  }
}

/** Node reads what is left of a body after the answer, where the connection is kept. */
function isSimplyDropped(request: IncomingMessage, response: ServerResponse): boolean {
  if (!hasBody(request)) return true;
  const bytes = Number(request.headers['content-length'] ?? Number.POSITIVE_INFINITY);
  return response.shouldKeepAlive && bytes <= limits.bodyBytesMax && request.headers.expect === undefined;
}
