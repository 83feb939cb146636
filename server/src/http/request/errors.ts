import type { ServerResponse } from 'node:http';
import type { FastifyBaseLogger, FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { type ErrorCode, errorTable } from '../../contract/error.ts';
import { asError, overloaded, ServiceError } from '../../domain/errors.ts';
import { noteCause } from '../observe/causes.ts';
import { WindowCounter } from '../workers/window-counter.ts';

export const statusOf = (code: ErrorCode): number => errorTable[code][0];

/** Under it, clients of OpenAI read errors of another shape. */
const openaiPrefix = '/openai/';
const openaiTypes: Readonly<Record<number, string>> = { 401: 'authentication_error', 429: 'rate_limit_error' };

export function errorBody({ code, message }: ServiceError, url = ''): string {
  const status = statusOf(code);
  if (!url.startsWith(openaiPrefix)) return JSON.stringify({ status, code, message });
  const type = openaiTypes[status] ?? (status < 500 ? 'invalid_request_error' : 'server_error');
  return JSON.stringify({ error: { message, type, param: null, code } });
}

export function errorHeaders({ code, retryAfterSeconds }: ServiceError): Record<string, string> {
  return {
    'content-type': 'application/json; charset=utf-8',
    ...(code === 'unauthorized' && { 'www-authenticate': 'Bearer realm="api"' }),
    ...(retryAfterSeconds !== undefined && { 'retry-after': String(retryAfterSeconds) }),
  };
}

/** Sends error responses, and logs errors of the service. */
export class ErrorSender {
  readonly #log: FastifyBaseLogger;
  readonly #outages: Outages;

  constructor(log: FastifyBaseLogger, outages: Outages) {
    this.#log = log;
    this.#outages = outages;
  }

  /** Fastify's error handler, for errors that a route or Fastify itself throws. */
  readonly send = (error: FastifyError | Error, request: FastifyRequest, reply: FastifyReply): void => {
    const shownError = this.report(error, request.id, reply.raw);
    reply
      .code(statusOf(shownError.code))
      .headers({ ...errorHeaders(shownError), 'x-request-id': request.id })
      .send(errorBody(shownError, request.url));
  };

  /** Writes the same response as `send`, without the framework. */
  write(response: ServerResponse, error: Error, id: string): void {
    const shownError = this.report(error, id, response);
    const body = errorBody(shownError, response.req.url);
    const headers = { ...errorHeaders(shownError), 'content-length': Buffer.byteLength(body), 'x-request-id': id };
    response.writeHead(statusOf(shownError.code), headers).end(body);
  }

  /** The error that the client gets. It is logged, and noted as the cause of the response. */
  report(error: Error, id: string, response: ServerResponse): ServiceError {
    const shownError = publicError(error);
    this.#logError(shownError, error, id, response);
    noteCause(response, shownError);
    return shownError;
  }

  /** Server errors are logged with more details than the client gets. An outage is not logged for every request. */
  #logError(shownError: ServiceError, error: Error, req_id: string, response: ServerResponse): void {
    // A log line for each request would make an overload worse; the gate logs how many there were.
    if (shownError === overloaded) return;
    if (shownError.code === 'service_unavailable') {
      // The work of a client that has disconnected was ended for that reason.
      if (response.closed) return;
      const unlogged = this.#outages.count(`${error.message} ${error.cause}`, Date.now());
      if (unlogged !== undefined) this.#log.error({ req_id, unlogged, ...loggable(error) }, shownError.message);
    } else if (shownError.code === 'internal_server_error') {
      this.#log.error({ req_id, ...loggable(error) }, shownError.message);
    }
  }
}

function overloadFor(url: string) {
  const body = errorBody(overloaded, url);
  const length = String(Buffer.byteLength(body));
  return { body, headers: [...Object.entries(errorHeaders(overloaded)).flat(), 'content-length', length] };
}
const overload = overloadFor('');
const openaiOverload = overloadFor(openaiPrefix);

/** Sends the 503 of an overload. It is rendered in advance, since many are sent in a burst. */
export function writeOverloaded(response: ServerResponse, id: string): void {
  const { body, headers } = response.req.url?.startsWith(openaiPrefix) ? openaiOverload : overload;
  response.writeHead(statusOf(overloaded.code), [...headers, 'x-request-id', id]).end(body);
}

/** The error that is returned to the client. */
function publicError(error: FastifyError | Error): ServiceError {
  if (error instanceof ServiceError) return error;
  switch (asError(error).code) {
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return new ServiceError('unsupported_media_type', 'this content type is not supported');
    case 'ECONNRESET':
    case 'ERR_STREAM_PREMATURE_CLOSE':
      return new ServiceError('bad_request', 'the request ended before its body did');
    default:
      return new ServiceError('internal_server_error', 'something went wrong on our side');
  }
}

/** Enough to find the cause. Not the whole error: a database error contains values of rows. */
function loggable(error: Error): object {
  const { cause, code } = asError(error);
  return {
    err: { code, message: error.message, stack: error.stack },
    ...(cause !== undefined && { cause: String(cause) }),
  };
}

/** Time between two log lines about the same outage. */
const quietMillis = 60_000;

/**
 * During an outage all requests fail with the same error. It is logged when it begins and then once a minute, by one of the
 * workers.
 */
export class Outages {
  readonly #failures: WindowCounter;

  constructor(memory: SharedArrayBuffer) {
    this.#failures = new WindowCounter(memory, quietMillis);
  }

  /** Counts a failure at a time that is the same in all threads. Returns the number of failures since the last log line, or undefined if this one must not be logged. */
  count(outage: string, now: number): number | undefined {
    const { count, before } = this.#failures.hit(outage, now);
    return count > 1 ? undefined : Math.max(0, before - 1);
  }
}
