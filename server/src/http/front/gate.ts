import type { IncomingMessage, ServerResponse } from 'node:http';
import { limits } from '../../contract/limits.ts';
import { overloaded } from '../../domain/errors.ts';
import { rejectedRoute } from '../observe/metrics.ts';
import { requestIdOf, safeRequestId } from '../observe/observe.ts';
import { hasBody } from '../request/body.ts';
import { writeOverloaded } from '../request/errors.ts';
import type { Dependencies, Handler } from '../route-types.ts';
import type { SharedSum } from '../workers/shared-sum.ts';
import { readLaneHeaders } from './lane-headers.ts';

/** Time between two log lines about rejected requests. */
const overloadLogMillis = 1_000;

type QueuedRequest = {
  request: IncomingMessage;
  response: ServerResponse;
  queuedAt: number;
  /** The number of ticks before it was queued. */
  tick: number;
};

/** Monitoring requests these paths, and needs them most when the service is overloaded. */
const neverQueuedPaths = ['/health/live', '/health/ready', '/metrics'];

const isInFlight = Symbol('whether the response has not ended');
type WatchedResponse = ServerResponse & { [isInFlight]?: boolean };

export type GateOptions = Pick<
  Dependencies,
  'in_flight_max' | 'inFlight' | 'slowReaders' | 'metrics' | 'logger' | 'now'
>;

/** A request that waits for long no longer counts as being in flight. */
export function leaveGate(response: WatchedResponse, inFlight: SharedSum): void {
  if (response[isInFlight]) inFlight.add(-1);
  response[isInFlight] = false;
}

const rejectedRequests = new WeakSet<IncomingMessage>();

/** Whether the gate has rejected a request but leaves the response to the framework, which reads the body. */
export function isRejected(request: IncomingMessage): boolean {
  return rejectedRequests.has(request);
}

/**
 * Rejects requests that would have to wait too long, with a 503 that costs almost nothing. So the other requests get their
 * responses in time, and memory stays bounded:
 *
 * - In one tick of the event loop, requests are handled for a short time only. The others wait in a queue, and are
 *   rejected after waiting too long, through several ticks: if there were few, the machine or one request was slow, not
 *   the load too high. Their connections wait too, so the length of a tick does not depend on the number of
 *   clients. Otherwise Node would accept requests for seconds, and results from the database would have to wait.
 * - The number of requests in flight is limited.
 * - The memory of responses that wait for slow readers is limited. Beyond the limit the slowest reader is disconnected.
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
  /** Listeners for all responses, so that no functions are created per response. */
  readonly #onPrefinish: (this: WatchedResponse) => void;
  readonly #onClose: (this: WatchedResponse) => void;
  #tickStart: number | undefined;
  #tick = 0;
  readonly #inFlight: SharedSum;
  #rejections = 0;
  /** Requests that the gate itself responded to since the last log line, and the last of them. */
  #responded: { count: number; method: string; id: string } | undefined;

  constructor(next: Handler, options: GateOptions) {
    this.#next = next;
    this.#options = options;
    this.#now = options.now;
    const { slowReaders, inFlight } = options;
    this.#inFlight = inFlight;
    this.#onPrefinish = function () {
      leaveGate(this, inFlight);
      slowReaders.add(this);
    };
    this.#onClose = function () {
      leaveGate(this, inFlight);
      slowReaders.delete(this);
    };
  }

  readonly handle: Handler = (request, response) => {
    if (this.#canPass()) this.#pass(request, response);
    else if (isNeverQueued(request, response)) {
      this.#inFlight.add(1);
      this.#pass(request, response);
    } else {
      this.#queue.push({ request, response, queuedAt: this.#now(), tick: this.#tick });
    }
  };

  /** Also starts the timer of a tick, and counts a request that may pass. */
  #canPass(): boolean {
    const now = this.#now();
    if (this.#tickStart === undefined) {
      this.#tickStart = now;
      setImmediate(this.#endTick);
    }
    return this.#queue.length === 0 && now - this.#tickStart < limits.tickMillisMax && this.#enter();
  }

  /** Counts a request in flight, unless there are too many. */
  #enter(): boolean {
    return this.#inFlight.tryIncrement(this.#options.in_flight_max);
  }

  /** Runs after all requests that have arrived were read. Then it handles queued requests. */
  readonly #endTick = (): void => {
    this.#tickStart = undefined;
    this.#tick += 1;
    if (this.#queue.length === 0) return;
    const start = this.#now();
    this.#tickStart = start;
    setImmediate(this.#endTick);
    let index = 0;
    for (let now = start; index < this.#queue.length && now - start < limits.tickMillisMax; now = this.#now()) {
      const { request, response, queuedAt, tick } = this.#queue[index++] as QueuedRequest;
      if (response.closed) continue;
      const isLate = this.#tick - tick >= limits.queueTicksMin && now - queuedAt >= limits.queueMillisMax;
      if (!isLate && this.#enter()) this.#pass(request, response);
      else this.#reject(request, response);
    }
    this.#queue.splice(0, index);
  };

  /** Passes on a request that is counted. */
  #pass(request: IncomingMessage, response: WatchedResponse): void {
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
    const { metrics } = this.#options;
    const method = request.method ?? '';
    const id = headers === undefined ? requestIdOf(request) : safeRequestId(headers['x-request-id']);
    metrics.count(method, rejectedRoute, 503, 0);
    this.#responded = { count: (this.#responded?.count ?? 0) + 1, method, id };
    writeOverloaded(response, id);
  }

  /** Logs at most one line a second: a line for each request would make the overload worse. */
  #countRejection(): void {
    this.#rejections += 1;
    if (this.#rejections > 1) return;
    setTimeout(() => {
      const rejected = this.#rejections;
      this.#rejections = 0;
      this.#countResponded();
      this.#options.logger.warn({ rejected, in_flight: this.#inFlight.total }, 'overloaded: requests were rejected');
    }, overloadLogMillis).unref();
  }

  /** Once a second, as the log line. */
  #countResponded(): void {
    if (this.#responded === undefined) return;
    const { count, method, id } = this.#responded;
    this.#responded = undefined;
    const { code, message } = overloaded;
    const failure = { status: 503, method, route: rejectedRoute, key_id: null };
    this.#options.metrics.failures.add(failure, { request_id: id, code, message }, count);
  }
}

/** A pipelined request must not overtake an earlier one on its connection. */
function isNeverQueued(request: IncomingMessage, response: ServerResponse): boolean {
  return response.socket !== null && neverQueuedPaths.includes(request.url ?? '');
}

/** With keep-alive, Node reads and discards the rest of a body after the response. */
function nodeDropsBody(request: IncomingMessage, response: ServerResponse): boolean {
  if (!hasBody(request)) return true;
  const bytes = Number(request.headers['content-length'] ?? Number.POSITIVE_INFINITY);
  return response.shouldKeepAlive && bytes <= limits.bodyBytesMax && request.headers.expect === undefined;
}
