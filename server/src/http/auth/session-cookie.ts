import type { IncomingHttpHeaders } from 'node:http';
import { limits } from '../../contract/limits.ts';
import { digestOf } from '../../domain/secret.ts';

export const sessionCookie = 'backscroll_session';
const secretIn = new RegExp(`(?:^|;) *${sessionCookie}=([\\w-]{1,100}) *(?:;|$)`);

/**
 * The digest of the secret in a request's cookie; undefined if there is none, or if another site may have caused the
 * request (CSRF). Browsers add cookies to such requests too, but do not let other sites add the `Backscroll-Console` header,
 * and report cross-site requests in `Sec-Fetch-Site`.
 */
export function sessionDigest(headers: IncomingHttpHeaders): string | undefined {
  if (headers['backscroll-console'] !== '1') return undefined;
  if ((headers['sec-fetch-site'] ?? 'same-origin') !== 'same-origin') return undefined;
  const secret = secretIn.exec(headers.cookie ?? '')?.[1];
  return secret === undefined ? undefined : digestOf(secret);
}

/** The `Set-Cookie` header that stores a secret, or clears it. Scripts cannot read the cookie, and other sites cannot send it. */
export function setCookie(headers: IncomingHttpHeaders, secret: string | undefined): string {
  const age = secret === undefined ? 0 : limits.sessionSeconds;
  // Behind a proxy that terminates TLS, the cookie is never sent without TLS.
  const isSecure = /^\s*https\s*(?:,|$)/i.test(String(headers['x-forwarded-proto'] ?? ''));
  const common = `${sessionCookie}=${secret ?? ''}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${age}`;
  return isSecure ? `${common}; Secure` : common;
}
