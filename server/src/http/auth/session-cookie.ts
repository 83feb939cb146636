import type { IncomingHttpHeaders } from 'node:http';
import { digestOf } from '../../domain/secret.ts';

export const sessionCookie = 'backscroll_session';
/** Only this host can set a cookie with this prefix, and only with TLS: not so a page of another host of its domain. */
const secureName = `__Host-${sessionCookie}`;
const secretsIn = new RegExp(`(?:^|;) *(${secureName}|${sessionCookie})=([\\w-]{1,100}) *(?=;|$)`, 'g');

/**
 * The digest of the secret in a request's cookie; undefined if there is none, or if another site may have caused the
 * request (CSRF). Browsers add cookies to such requests too, but do not let other sites add the `Backscroll-Console` header,
 * and report cross-site requests in `Sec-Fetch-Site`.
 */
export function sessionDigest(headers: IncomingHttpHeaders): string | undefined {
  if (headers['backscroll-console'] !== '1') return undefined;
  if ((headers['sec-fetch-site'] ?? 'same-origin') !== 'same-origin') return undefined;
  const cookies = Array.from((headers.cookie ?? '').matchAll(secretsIn), ([, name, secret]) => [name, secret] as const);
  // Of two with the same name, the first counts: it has the more specific path.
  const secrets = new Map(cookies.reverse());
  const secret = secrets.get(secureName) ?? (isSecure(headers) ? undefined : secrets.get(sessionCookie));
  return secret === undefined ? undefined : digestOf(secret);
}

/** Behind a proxy that terminates TLS, the cookie is never sent without TLS. */
const isSecure = (headers: IncomingHttpHeaders): boolean =>
  /^\s*https\s*(?:,|$)/i.test(String(headers['x-forwarded-proto'] ?? ''));

type NewCookie = { secret: string | undefined; seconds: number; isPublicSecure?: boolean };

/** The `Set-Cookie` header that stores a secret, or clears it. Scripts cannot read the cookie, and other sites cannot send it. */
export function setCookie(headers: IncomingHttpHeaders, { secret = '', seconds, isPublicSecure }: NewCookie): string {
  const isOfTls = isPublicSecure ?? (isSecure(headers) || (secret === '' && headers.cookie?.includes(secureName)));
  const age = secret === '' ? 0 : seconds;
  const attributes = `Path=/; HttpOnly; SameSite=Strict; Max-Age=${age}`;
  return isOfTls ? `${secureName}=${secret}; ${attributes}; Secure` : `${sessionCookie}=${secret}; ${attributes}`;
}
