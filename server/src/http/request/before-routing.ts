import type { IncomingMessage } from 'node:http';
import { ServiceError } from '../../domain/errors.ts';

/** Checks of a request before it is routed, and the URL by which it is routed. */

/** Headers that decide to whom a request is sent, and by whom. If repeated, they would be ambiguous. */
export function requireUnambiguousSender(request: IncomingMessage): void {
  if (countOf(request, 'authorization') > 1) throw headerCountError('Authorization');
  const hosts = countOf(request, 'host');
  if (hosts > 1 || (hosts === 0 && request.httpVersion === '1.1')) throw headerCountError('Host');
}

/** Headers that decide how a body is read: checked after the key. */
export function requireUnambiguousBody(request: IncomingMessage): void {
  if (countOf(request, 'content-type') > 1) throw headerCountError('Content-Type');
  if (hasUnknownCoding(request)) throw new ServiceError('not_implemented', 'Transfer-Encoding must be chunked');
}

/** Counts in the raw headers: Node's `headers` object drops or joins repeated ones. */
function countOf({ rawHeaders }: IncomingMessage, name: string): number {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const raw = rawHeaders[index] ?? '';
    if (raw.length === name.length && raw.toLowerCase() === name) count += 1;
  }
  return count;
}

/** Node accepts other codings before `chunked`, and some names that end in it, but does not decode them. */
export function hasUnknownCoding({ headers }: IncomingMessage): boolean {
  const coding = headers['transfer-encoding'];
  return coding !== undefined && !/^\s*chunked\s*$/i.test(coding);
}

const headerCountError = (name: string) => new ServiceError('bad_request', `the request must have one ${name} header`);

/** `GET http://host/path` requests `/path`. */
function originForm(url: string): string {
  if (url.startsWith('/')) return url;
  const rest = url.replace(/^https?:\/\/[^/?#]*/i, '');
  return rest === '' || rest.startsWith('?') ? `/${rest}` : rest;
}

/** In a path that cannot be decoded, `%` is taken as it is: the path names nothing, and is rejected like others, after the key check. */
function decodable(url: string): string {
  const [path = ''] = url.split('?', 1);
  if (!path.includes('%')) return url;
  try {
    decodeURIComponent(path);
    return url;
  } catch {
    return path.replaceAll('%', '%25') + url.slice(path.length);
  }
}

export const routedUrl = ({ url = '/' }: IncomingMessage): string => decodable(originForm(url));

/** The path and query as received. The framework replaces the URL of a request by the one that is routed. */
export const receivedUrl = ({ url = '/', originalUrl = url }: IncomingMessage & { originalUrl?: string }): string =>
  originForm(originalUrl);
