import type { FastifyRequest, onRequestHookHandler } from 'fastify';
import { ServiceError } from '../../domain/errors.ts';
import { checkFirst } from '../request/check-first.ts';

/**
 * A hook that rejects requests of foreign pages. A page can make its own host name an address of this machine (DNS rebinding), and then
 * its requests have a `Host` header that fits. Only the browser sets `Origin`. Programs send none.
 */
export function requireOrigin(publicUrl: string | undefined): onRequestHookHandler {
  return checkFirst((request: FastifyRequest) => {
    const { origin } = request.headers;
    if (origin === undefined || origin === publicUrl || isLoopback(origin, request.socket.localPort)) return;
    throw new ServiceError('forbidden', 'pages of this origin may not send requests: set PUBLIC_URL if they are yours');
  });
}

/** Whether it is a page of this machine, served at the port of this service. */
function isLoopback(origin: string, port: number | undefined): boolean {
  const url = URL.parse(origin);
  if (url === null || url.origin !== origin || !/^https?:$/.test(url.protocol)) return false;
  const isLocal = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/.test(url.hostname);
  return isLocal && Number(url.port || (url.protocol === 'https:' ? 443 : 80)) === port;
}
