import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyBaseLogger } from 'fastify';
import { limits } from '../../contract/limits.ts';
import { type Metrics, rejectedRoute } from '../observe/metrics.ts';
import { requestIdOf, safeRequestId } from '../observe/observe.ts';
import { hasBody } from '../request/body.ts';
import { writeOverloaded } from '../request/errors.ts';
import type { Handler } from '../route-types.ts';
import { readLaneHeaders } from './lane-headers.ts';
import { SlowReaders } from './slow-readers.ts';

type QueuedRequest = { request: IncomingMessage; response: ServerResponse; queuedAt: number };

/** Requested by monitoring, above all when the service is overloaded. */
const neverQueuedPaths = ['/health/live', '/health/ready', '/metrics'];

const isInFlight = Symbol('whether the response has not ended');
type WatchedResponse = ServerResponse & { [isInFlight]?: boolean };

export type GateOptions = {
  in_flight_max: number;
  metrics: Metrics;
  logger: FastifyBaseLogger;
  /** Milliseconds that only go forward. */
  now: () => number;
};

const rejectedRequests = new WeakSet<IncomingMessage>();

/** Whether the gate has rejected a request and left its response to the framework, which reads the body. */
export function isRejected(request: IncomingMessage): boolean {
  return rejectedRequests.has(request);
}

/**
 * Rejects requests that would get their responses late, with a 503 that costs almost nothing. So the others get theirs in
 * time, and memory stays bounded:
 *
 * - In one tick of the event loop, requests are handled for a short time only. The others wait in a queue, and are
 *   rejected after waiting too long. Since their connections wait too, a tick ends however many clients there are:
 *   otherwise Node would accept requests for seconds, and results from the database would have to wait.
 * - The number of requests in flight is limited.
 * - The memory of responses that wait for slow readers is limited. Beyond it the slowest reader is disconnected.
 *
 * `next` gets the requests that pass, and those rejected requests whose bodies must be read first.
 */
export function gate(next: Handler, options: GateOptions): Handler {
  return new Gate(next, options).handle;
}

class Gate {
  readonly #next: Handler;
  readonly #options: GateOptions;
  readonly #now: () => number;
  readonly #queue: QueuedRequest[] = [];
  /** One listener each for all responses, so that no response needs functions of its own. */
  readonly #onPrefinish: (this: WatchedResponse) => void;
  readonly #onClose: (this: WatchedResponse) => void;
  #tickStart: number | undefined;
  #inFlight = 0;
  #rejections = 0;

  constructor(next: Handler, options: GateOptions) {
    this.#next = next;
    this.#options = options;
    this.#now = options.now;
    options.metrics.watchInFlight(() => this.#inFlight);
    const slowReaders = new SlowReaders(limits.unreadBytesMax);
    const leave = (response: WatchedResponse) => {
      if (response[isInFlight]) this.#inFlight -= 1;
      response[isInFlight] = false;
    };
    this.#onPrefinish = function () {
      leave(this);
      slowReaders.add(this);
    };
    this.#onClose = function () {
      leave(this);
      slowReaders.delete(this);
    };
  }

  readonly handle: Handler = (request, response) => {
    if (this.#canPass() || isNeverQueued(request, response)) this.#pass(request, response);
    else this.#queue.push({ request, response, queuedAt: this.#now() });
  };

  /** Also starts the time of a tick. */
  #canPass(): boolean {
    const now = this.#now();
    if (this.#tickStart === undefined) {
      this.#tickStart = now;
      setImmediate(this.#endTick);
    }
    return this.#queue.length === 0 && this.#hasRoom() && now - this.#tickStart < limits.tickMillisMax;
  }

  #hasRoom(): boolean {
    return this.#inFlight < this.#options.in_flight_max;
  }

  /** Runs after everything that has arrived was read. Queued requests are next. */
  readonly #endTick = (): void => {
    this.#tickStart = undefined;
    if (this.#queue.length === 0) return;
    const start = this.#now();
    this.#tickStart = start;
    setImmediate(this.#endTick);
    let at = 0;
    for (let now = start; at < this.#queue.length && now - start < limits.tickMillisMax; now = this.#now()) {
      const { request, response, queuedAt } = this.#queue[at++] as QueuedRequest;
      if (response.closed) continue;
      if (this.#hasRoom() && now - queuedAt < limits.queueMillisMax) this.#pass(request, response);
      else this.#reject(request, response);
    }
    this.#queue.splice(0, at);
  };

  #pass(request: IncomingMessage, response: WatchedResponse): void {
    this.#inFlight += 1;
    response[isInFlight] = true;
    response.on('prefinish', this.#onPrefinish).on('close', this.#onClose);
    this.#next(request, response);
  }

  #reject(request: IncomingMessage, response: ServerResponse): void {
    this.#countRejection();
    const headers = readLaneHeaders(request.rawHeaders);
    if (headers === undefined && !nodeDropsBody(request, response)) {
      rejectedRequests.add(request);
      return this.#next(request, response);
    }
    this.#options.metrics.count(request.method ?? '', rejectedRoute, 503, 0);
    writeOverloaded(response, headers === undefined ? requestIdOf(request) : safeRequestId(headers.request_id));
  }

  /** Logs at most one line a second: a line for each request would make the overload worse. */
  #countRejection(): void {
    this.#rejections += 1;
    if (this.#rejections > 1) return;
    setTimeout(() => {
      const rejected = this.#rejections;
      this.#rejections = 0;
      this.#options.logger.warn({ rejected, in_flight: this.#inFlight }, 'overloaded: requests were rejected');
    }, limits.overloadLogMillis).unref();
  }
}

/** A request behind another one on its connection must not overtake it. */
function isNeverQueued(request: IncomingMessage, response: ServerResponse): boolean {
  return response.socket !== null && neverQueuedPaths.includes(request.url ?? '');
}

/** Node reads and drops the rest of a body after the response if the connection is kept alive. */
function nodeDropsBody(request: IncomingMessage, response: ServerResponse): boolean {
  if (!hasBody(request)) return true;
  const bytes = Number(request.headers['content-length'] ?? Number.POSITIVE_INFINITY);
  return response.shouldKeepAlive && bytes <= limits.bodyBytesMax && request.headers.expect === undefined;
}
