import type { IncomingMessage } from 'node:http';
import type { Caller } from '../../domain/caller.ts';
import { ServiceError } from '../../domain/errors.ts';
import { sessionCookie } from '../auth/session-cookie.ts';
import { hasBody } from '../request/body.ts';

/** Flat pairs, as `rawHeaders`, so that repeated headers and their spelling are kept. */
type HeaderList = string[];

const via = '1.1 backscroll';
const ownVia = /(?:^|,)[^,]*\sbackscroll(?=[\s,]|$)/i;

/** Headers about one connection. Those that `Connection` names belong to them. */
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

/** `expect` was handled already. */
const replacedInRequests = new Set(['host', 'expect', 'via', 'x-request-id', 'cookie', 'x-forwarded-for']);
const sessionPair = new RegExp(`^\\s*${sessionCookie}\\s*=`);

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
  const isKept = (name: string) =>
    !replacedInRequests.has(name) &&
    (isEncoded || name !== 'accept-encoding') &&
    !name.replaceAll('_', '-').startsWith('x-backscroll-');
  const list: HeaderList = ['Host', host, ...endToEnd(request, isKept)];
  const cookies = headers.cookie
    ?.split(';')
    .filter((pair) => !sessionPair.test(pair))
    .join(';')
    .trim();
  if (cookies) list.push('Cookie', cookies);
  if (headers['transfer-encoding'] !== undefined) list.push('Transfer-Encoding', 'chunked');
  // Otherwise Node would send an empty body in chunks.
  else if (!hasBody(request) && headers['content-length'] === undefined && isWithBody(request)) {
    list.push('Content-Length', '0');
  }
  list.push('X-Forwarded-For', joined(headers['x-forwarded-for'], request.socket.remoteAddress ?? 'unknown'));
  if (headers['x-forwarded-proto'] === undefined) list.push('X-Forwarded-Proto', 'http');
  if (headers['x-forwarded-host'] === undefined && headers.host !== undefined) {
    list.push('X-Forwarded-Host', headers.host);
  }
  list.push('Via', joined(headers.via, via), 'X-Request-Id', id);
  if (caller === undefined) return list;
  list.push('X-Backscroll-Key-Id', caller.key_id);
  if (caller.kind === 'app') list.push('X-Backscroll-App-Id', caller.app.id);
  if ('workspace_id' in caller) list.push('X-Backscroll-Workspace-Id', caller.workspace_id);
  return list;
}

/** The headers of the upstream's response, for the client. */
export function responseHeaders(response: IncomingMessage, id: string): HeaderList {
  const list = endToEnd(response, (name) => name !== 'via' && name !== 'x-request-id');
  list.push('Via', joined(response.headers.via, via), 'X-Request-Id', id);
  return list;
}

function endToEnd({ rawHeaders, headers }: IncomingMessage, isKept: (name: string) => boolean): HeaderList {
  const named =
    headers.connection
      ?.toLowerCase()
      .split(',')
      .map((name) => name.trim()) ?? [];
  const list: HeaderList = [];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = (rawHeaders[index] as string).toLowerCase();
    if (hopByHop.has(name) || named.includes(name) || !isKept(name)) continue;
    list.push(rawHeaders[index] as string, rawHeaders[index + 1] as string);
  }
  return list;
}

const joined = (values: string | string[] | undefined, last: string): string =>
  [...[values ?? []].flat(), last].join(', ');

const isWithBody = ({ method = '' }: IncomingMessage): boolean =>
  !['GET', 'HEAD', 'OPTIONS', 'DELETE'].includes(method);
