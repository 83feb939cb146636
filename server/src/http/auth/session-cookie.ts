import type { IncomingHttpHeaders } from 'node:http';
import { limits } from '../../contract/limits.ts';
import { digestOf } from '../../domain/secret.ts';

export const sessionCookie = 'backscroll_session';
const secretIn = new RegExp(`(?:^|;) *${sessionCookie}=([\\w-]{1,100}) *(?:;|$)`);

/**
 * The digest of the secret that a request's cookie carries; undefined where it counts for nothing. Browsers add cookies to
 * requests that other sites cause. They do not let those add this header, and tell where a request comes from.
 */
export function sessionDigest(headers: IncomingHttpHeaders): string | undefined {
  if (headers['backscroll-console'] !== '1') return undefined;
  if ((headers['sec-fetch-site'] ?? 'same-origin') !== 'same-origin') return undefined;
  const secret = secretIn.exec(headers.cookie ?? '')?.[1];
  return secret === undefined ? undefined : digestOf(secret);
}

/** `Set-Cookie` for a secret, or to forget one. No script can read it, and other sites cannot have it sent. */
export function setCookie(headers: IncomingHttpHeaders, secret: string | undefined): string {
  const age = secret === undefined ? 0 : limits.sessionSeconds;
  // A proxy before us speaks TLS; then the cookie is never sent without it.
  const isSecure = /^\s*https\s*(?:,|$)/i.test(String(headers['x-forwarded-proto'] ?? ''));
  const common = `${sessionCookie}=${secret ?? ''}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${age}`;
  return isSecure ? `${common}; Secure` : common;
}
