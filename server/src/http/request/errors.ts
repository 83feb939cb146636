import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyBaseLogger, FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import type { ErrorCode } from '../../contract/error.ts';
import { limits } from '../../contract/limits.ts';
import { overloaded, ServiceError } from '../../domain/errors.ts';
import { Outages } from '../observe/outages.ts';

/** The one place that knows which status a code has. */
export const statusOf: Readonly<Record<ErrorCode, number>> = {
  invalid_param: 400,
  bad_request: 400,
  not_chat_app: 400,
  unauthorized: 401,
  not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  precondition_failed: 412,
  payload_too_large: 413,
  unsupported_media_type: 415,
  too_many_requests: 429,
  headers_too_large: 431,
  internal_server_error: 500,
  service_unavailable: 503,
};

function bodyOf({ code, message }: ServiceError): string {
  return JSON.stringify({ status: statusOf[code], code, message });
}

function headersOf({ code, retryAfterSeconds }: ServiceError): Record<string, string> {
  return {
    'content-type': 'application/json; charset=utf-8',
    ...(code === 'unauthorized' && { 'www-authenticate': 'Bearer realm="api"' }),
    ...(retryAfterSeconds !== undefined && { 'retry-after': String(retryAfterSeconds) }),
  };
}

/** Whatever was thrown, as something the caller may know. */
function publicError(error: FastifyError | Error): ServiceError {
  if (error instanceof ServiceError) return error;
  switch ((error as FastifyError).code) {
    case 'FST_ERR_BAD_URL':
      return new ServiceError('bad_request', 'the path is not valid percent-encoding');
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return new ServiceError('unsupported_media_type', 'this content type is not taken here');
    case 'ECONNRESET':
    case 'ERR_STREAM_PREMATURE_CLOSE':
      return new ServiceError('bad_request', 'the request ended before its body did');
    default:
      return new ServiceError('internal_server_error', 'something went wrong on our side');
  }
}

/** Fastify's handler for whatever a route or Fastify itself throws. */
export function sendError(error: FastifyError | Error, request: FastifyRequest, reply: FastifyReply): void {
  const known = knownError(error, request.id, request.log);
  reply
    .code(statusOf[known.code])
    .headers({ ...headersOf(known), 'x-request-id': request.id })
    .send(bodyOf(known));
}

/** The same answer, without the framework. */
export function answerError(response: ServerResponse, error: Error, id: string, log: FastifyBaseLogger): void {
  const known = knownError(error, id, log);
  const body = bodyOf(known);
  const headers = { ...headersOf(known), 'content-length': Buffer.byteLength(body), 'x-request-id': id };
  response.writeHead(statusOf[known.code], headers).end(body);
}

const overload = { body: bodyOf(overloaded), headers: Object.entries(headersOf(overloaded)).flat() };
overload.headers.push('content-length', String(Buffer.byteLength(overload.body)));

/** The same for one that is refused: put together beforehand, since it comes in crowds. */
export function answerOverloaded(response: ServerResponse, id: string): void {
  response.writeHead(statusOf[overloaded.code], [...overload.headers, 'x-request-id', id]).end(overload.body);
}

/** What is said of it. What is our fault is logged with more than that; an outage is not logged every time. */
function knownError(error: FastifyError | Error, req_id: string, log: FastifyBaseLogger): ServiceError {
  const known = publicError(error);
  // A line a request would make an overload worse; the gate tells of them together.
  if (known === overloaded) return known;
  if (known.code === 'service_unavailable') {
    const unlogged = outagesIn(log).tell(`${error.message} ${error.cause}`, performance.now());
    if (unlogged !== undefined) log.error({ req_id, unlogged, ...loggable(error) }, known.message);
  } else if (statusOf[known.code] >= 500) {
    log.error({ req_id, ...loggable(error) }, known.message);
  }
  return known;
}

const outagesByLog = new WeakMap<FastifyBaseLogger, Outages>();

function outagesIn(log: FastifyBaseLogger): Outages {
  const outages = outagesByLog.get(log) ?? new Outages();
  outagesByLog.set(log, outages);
  return outages;
}

/** Enough to find the fault. Not the whole error: a database's holds values of rows. */
function loggable(error: Error): object {
  const { cause, code } = error as { cause?: unknown; code?: string };
  return {
    err: { code, message: error.message, stack: error.stack },
    ...(cause !== undefined && { cause: String(cause) }),
  };
}

/** The answer that is due on a connection; undefined where none is. */
export function answerOn(socket: Socket): ServerResponse | undefined {
  return (socket as { _httpMessage?: ServerResponse | null })._httpMessage ?? undefined;
}

/** Once what was asked before on the connection has been answered. */
export function answerInTurn(socket: Socket, response: () => void): void {
  const pending = answerOn(socket);
  if (pending === undefined) response();
  else pending.once('close', () => setImmediate(answerInTurn, socket, response));
}

/** What the HTTP parser refuses never becomes a request: the answer is written to the socket as it is. */
export function answerClientError(error: NodeJS.ErrnoException, socket: Socket): void {
  const pending = answerOn(socket);
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
  } else if (!pending) {
    writeError(socket, parserError(error.code));
  } else if (pending.req.complete) {
    // An earlier request on the connection is still being answered, and goes first.
    pending.once('close', () => setImmediate(answerClientError, error, socket));
  } else if (pending.headersSent) {
    socket.destroy();
  } else {
    writeError(socket, parserError(error.code));
  }
}

function parserError(code: string | undefined): ServiceError {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return new ServiceError('headers_too_large', 'the request line and headers are too large');
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new ServiceError('request_timeout', 'the request took too long to arrive');
    default:
      return new ServiceError('bad_request', 'the request is not valid HTTP');
  }
}

/** Answers on a bare socket and closes it. */
export function writeError(socket: Socket, error: ServiceError, more: Record<string, string> = {}): void {
  const status = statusOf[error.code];
  const body = bodyOf(error);
  const headers = {
    ...headersOf(error),
    ...more,
    'content-length': String(Buffer.byteLength(body)),
    'x-request-id': randomUUID(),
    connection: 'close',
  };
  // Not imported: that would load all it can export, the client behind `fetch` included, at every start.
  const { STATUS_CODES } = process.getBuiltinModule('node:http');
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`);
  // A client that does not close its side would hold the connection for ever.
  setTimeout(() => socket.destroy(), limits.closeMillis).unref();
}
