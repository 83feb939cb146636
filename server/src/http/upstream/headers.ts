import type { IncomingMessage } from 'node:http';
import type { Caller } from '../../domain/caller.ts';
import { ServiceError } from '../../domain/errors.ts';
import { sessionCookie } from '../auth/session-cookie.ts';

/** Flat pairs, as `rawHeaders`, so that repeated headers and their spelling are kept. */
type HeaderList = string[];

const via = '1.1 backscroll';
const ownVia = /(?:^|,)[^,]*\sbackscroll(?=[\s,]|$)/i;

/** Headers about one connection. Those that `Connection` names belong to them, except `isAlwaysKept`. */
const hopByHop = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** What says where a body ends, what it is, or who sent it: without them, a message would be another one. */
const isAlwaysKept = (name: string) => /^(?:content-.*|authorization|set-cookie)$/.test(name);

/** Headers of requests that this server writes itself, whatever the client has sent. `expect` was handled already. */
const written =
  /^(?:host|content-length|expect|cookie|via|x-request-id|x-forwarded-(?:for|proto|host)|x-backscroll-.*)$/;
const sessionPair = new RegExp(`^\\s*(?:__Host-)?${sessionCookie}\\s*=`);

/**
 * The headers of a request to the upstream. A client cannot set those that say who it is. `caller`: whom the upstream is told
 * about. `isEncoded`: whether the response may have a content encoding.
 */
export function requestHeaders(
  request: IncomingMessage,
  host: string,
  id: string,
  { caller, isEncoded }: { caller: Caller | undefined; isEncoded: boolean },
): HeaderList {
  const { headers } = request;
  if (ownVia.test(headers.via ?? '')) {
    throw new ServiceError(
      'bad_gateway',
      'the request has passed through Backscroll before: UPSTREAM_URL leads back to it',
    );
  }
  const isWritten = (name: string) => written.test(name) || (!isEncoded && name === 'accept-encoding');
  // A connection of its own for each request: whatever else arrives on it belongs to no other client.
  const list: HeaderList = ['Host', host, 'Connection', 'close', ...endToEnd(request, isWritten), ...framing(request)];
  const cookies = headers.cookie
    ?.split(';')
    .filter((pair) => !sessionPair.test(pair))
    .join(';')
    .trim();
  if (cookies) list.push('Cookie', cookies);
  list.push('X-Forwarded-For', joined(headers['x-forwarded-for'], request.socket.remoteAddress ?? 'unknown'));
  list.push('X-Forwarded-Proto', joined(headers['x-forwarded-proto'] ?? 'http'));
  const forwardedHost = headers['x-forwarded-host'] ?? headers.host;
  if (forwardedHost !== undefined) list.push('X-Forwarded-Host', joined(forwardedHost));
  list.push('Via', joined(headers.via, via), 'X-Request-Id', id);
  if (caller === undefined) return list;
  list.push('X-Backscroll-Key-Id', caller.key_id);
  if (caller.kind === 'app') list.push('X-Backscroll-App-Id', caller.app.id);
  if ('workspace_id' in caller) list.push('X-Backscroll-Workspace-Id', caller.workspace_id);
  return list;
}

/** Where the body of a request ends. Every request with a body has a length or chunks, and no other request has. */
function framing({ headers, method = '' }: IncomingMessage): HeaderList {
  if (headers['transfer-encoding'] !== undefined) return ['Transfer-Encoding', 'chunked'];
  const isUsuallyWithout = ['GET', 'HEAD', 'OPTIONS', 'DELETE', 'TRACE'].includes(method);
  const length = headers['content-length'] ?? (isUsuallyWithout ? undefined : '0');
  return length === undefined ? [] : ['Content-Length', `${Number(length)}`];
}

/** The headers of the upstream's response, for the client. */
export function responseHeaders(response: IncomingMessage, id: string): HeaderList {
  const isEmpty = response.statusCode === 204;
  const isWritten = (name: string) =>
    name === 'via' || name === 'x-request-id' || (isEmpty && name === 'content-length');
  const list = endToEnd(response, isWritten);
  list.push('Via', joined(response.headers.via, via), 'X-Request-Id', id);
  return list;
}

function endToEnd({ rawHeaders, headers }: IncomingMessage, isWritten: (name: string) => boolean): HeaderList {
  const named = new Set(headers.connection?.split(',').map((name) => name.trim().toLowerCase()));
  const list: HeaderList = [];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = (rawHeaders[index] ?? '').toLowerCase();
    // Some servers read an underscore as a hyphen.
    const meant = name.replaceAll('_', '-');
    if (hopByHop.has(meant) || isWritten(meant)) continue;
    if (isAlwaysKept(meant) ? name !== meant : named.has(name)) continue;
    list.push(rawHeaders[index] ?? '', rawHeaders[index + 1] ?? '');
  }
  return list;
}

const joined = (...values: (string | string[] | undefined)[]): string => values.flat().filter(Boolean).join(', ');
