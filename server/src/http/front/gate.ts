import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyBaseLogger } from 'fastify';
import { limits } from '../../contract/limits.ts';
import { type Metrics, refused } from '../observe/metrics.ts';
import { requestIdOf, saneIdOf } from '../observe/observe.ts';
import { hasBody } from '../request/body.ts';
import { answerOverloaded } from '../request/errors.ts';
import { readLaneHeaders } from './lane-headers.ts';
import { SlowReaders } from './slow-readers.ts';

type Handler = (request: IncomingMessage, response: ServerResponse) => void;
type Waiting = { request: IncomingMessage; response: ServerResponse; came: number };

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
 * Stands before everything else. A request that could only be answered late is refused, with a 503 that costs next to
 * nothing, so that those let in are answered in time, and memory stays bounded:
 *
 * - One turn of the event loop answers requests for a short time only; the rest of them waits in line, and is refused
 *   once it has waited for too long. Since their connections wait too, a turn ends, however many clients there are:
 *   Node would go on taking up requests for seconds, and what comes back from the database would have to wait.
 * - So many requests are worked on at once, and no more.
 * - Answers that wait for their readers hold so much memory together; beyond it the slowest reader is cut off.
 */
export class Gate {
  /** Gets those that are let in; and those refused whose body is not simply dropped. */
  readonly #next: Handler;
  readonly #options: GateOptions;
  readonly #now: () => number;
  readonly #line: Waiting[] = [];
  readonly #refused = new WeakSet<IncomingMessage>();
  /** One each for all answers, so that none needs functions of its own. */
  readonly #ended: (this: Watched) => void;
  readonly #closed: (this: Watched) => void;
  #turnBegan: number | undefined;
  #inFlight = 0;
  #refusals = 0;

  constructor(next: Handler, options: GateOptions) {
    this.#next = next;
    this.#options = options;
    this.#now = options.now ?? performance.now.bind(performance);
    options.metrics.watchInFlight(() => this.#inFlight);
    const unread = new SlowReaders(limits.unreadBytesMax);
    const done = (response: Watched) => {
      if (response[isWorkedOn]) this.#inFlight -= 1;
      response[isWorkedOn] = false;
    };
    this.#ended = function () {
      done(this);
      unread.add(this);
    };
    this.#closed = function () {
      done(this);
      unread.delete(this);
    };
  }

  readonly handle: Handler = (request, response) => {
    if (this.#isFree() || isAlwaysFree(request, response)) this.#take(request, response);
    else this.#line.push({ request, response, came: this.#now() });
  };

  /** Refused already: to be said by whoever reads its body. */
  hasRefused(request: IncomingMessage): boolean {
    return this.#refused.has(request);
  }

  /** Begins a turn where none has begun. */
  #isFree(): boolean {
    const now = this.#now();
    if (this.#turnBegan === undefined) {
      this.#turnBegan = now;
      setImmediate(this.#endTurn);
    }
    return this.#line.length === 0 && this.#hasRoom() && now - this.#turnBegan < limits.turnMillisMax;
  }

  #hasRoom(): boolean {
    return this.#inFlight < this.#options.in_flight_max;
  }

  /** Comes after all that has arrived was read. Those in line are next. */
  readonly #endTurn = (): void => {
    this.#turnBegan = undefined;
    if (this.#line.length === 0) return;
    const began = this.#now();
    this.#turnBegan = began;
    setImmediate(this.#endTurn);
    let at = 0;
    for (let now = began; at < this.#line.length && now - began < limits.turnMillisMax; now = this.#now()) {
      const { request, response, came } = this.#line[at++] as Waiting;
      if (response.closed) continue;
      if (this.#hasRoom() && now - came < limits.lineMillisMax) this.#take(request, response);
      else this.#refuse(request, response);
    }
    this.#line.splice(0, at);
  };

  #take(request: IncomingMessage, response: Watched): void {
    this.#inFlight += 1;
    response[isWorkedOn] = true;
    response.on('prefinish', this.#ended).on('close', this.#closed);
    this.#next(request, response);
  }

  #refuse(request: IncomingMessage, response: ServerResponse): void {
    this.#tell();
    const plain = readLaneHeaders(request.rawHeaders);
    if (plain === undefined && !isSimplyDropped(request, response)) {
      this.#refused.add(request);
      return this.#next(request, response);
    }
    this.#options.metrics.count(request.method ?? '', refused, 503, 0);
    answerOverloaded(response, plain === undefined ? requestIdOf(request) : saneIdOf(plain.request_id));
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

/** Behind another one on its connection it must not go ahead of it. */
function isAlwaysFree(request: IncomingMessage, response: ServerResponse): boolean {
  return response.socket !== null && always.includes(request.url ?? '');
}

/** Node reads what is left of a body after the answer, where the connection is kept. */
function isSimplyDropped(request: IncomingMessage, response: ServerResponse): boolean {
  if (!hasBody(request)) return true;
  const bytes = Number(request.headers['content-length'] ?? Number.POSITIVE_INFINITY);
  return response.shouldKeepAlive && bytes <= limits.bodyBytesMax && request.headers.expect === undefined;
}
