import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { limits } from '../../contract/limits.ts';
import { ServiceError } from '../../domain/errors.ts';
import { requestIdOf } from '../observe/observe.ts';
import { errorBody, errorHeaders, statusOf } from '../request/errors.ts';

/**
 * The response that is next, or being sent, on a connection; undefined if there is none. Node has no public way to get
 * it: `_httpMessage` is set by `ServerResponse.prototype.assignSocket` in Node's `lib/_http_server.js`.
 */
export function pendingResponse(socket: Socket): ServerResponse | undefined {
  return (socket as { _httpMessage?: ServerResponse | null })._httpMessage ?? undefined;
}

/** Responds once all earlier requests on the connection have their responses. */
export function afterPending(socket: Socket, respond: () => void): void {
  const pending = pendingResponse(socket);
  if (pending === undefined) respond();
  else pending.once('close', () => setImmediate(afterPending, socket, respond));
}

const invalidSockets = new WeakSet<Socket>();

/** Whether the HTTP parser has rejected what a request of this connection consists of, or what follows the requests. */
export const isInvalid = (socket: Socket): boolean => invalidSockets.has(socket);

/** Handles `clientError`: invalid HTTP never becomes a request, so the response is written directly to the socket. */
export function rejectInvalidHttp(error: NodeJS.ErrnoException, socket: Socket): void {
  invalidSockets.add(socket);
  const pending = pendingResponse(socket);
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
  } else if (pending?.req.complete) {
    // The response to an earlier request on the connection is sent first.
    pending.once('close', () => setImmediate(rejectInvalidHttp, error, socket));
  } else if (pending?.headersSent) {
    socket.destroy();
  } else {
    // The request whose body is not valid, if there is one.
    writeError(socket, parserError(error.code), pending && requestIdOf(pending.req));
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

/** Writes an error response directly to a socket and closes it. */
export function writeError(
  socket: Socket,
  error: ServiceError,
  id: string = randomUUID(),
  more: Record<string, string> = {},
): void {
  const status = statusOf(error.code);
  const body = errorBody(error);
  const headers = {
    ...errorHeaders(error),
    ...more,
    'content-length': String(Buffer.byteLength(body)),
    'x-request-id': id,
    connection: 'close',
  };
  const { STATUS_CODES } = process.getBuiltinModule('node:http');
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`);
  // A client that does not close its side would keep the connection open forever.
  setTimeout(() => socket.destroy(), limits.closeMillis).unref();
}
