import type { FastifyReply } from 'fastify';
import { invalidParam } from '../../domain/errors.ts';
import { oidcPath, type Pending } from '../auth/oidc.ts';
import { setCookie } from '../auth/session-cookie.ts';
import { receivedUrl } from '../request/before-routing.ts';
import { jsonReader, requireContentType } from '../request/body.ts';
import type { Routes } from '../route-types.ts';

const form = 'application/x-www-form-urlencoded';
const logoutBodyBytesMax = 65_536;
const pendingSeconds = 600;
const pendingIn = /(?:^|;) *(?:__Secure-)?backscroll_sign_in=([\w-]+)\.([\w-]+)\.([\w-]+) *(?:;|$)/;
/** The console explains the problem. No part of the request is in the address, so that it leads nowhere else. */
const problemPage = (problem: string) => `/console#problem=${problem}`;
/** Referrers would tell the next page the code of a sign-in. */
const common = { 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' };

/** Sign-in by name: browsers and the provider send these requests. They exist only if it is on. */
export const oidcRoutes: Routes = (app, { oidc, bearer, in_flight_max }) => {
  if (oidc === undefined) return;
  const isPublicSecure = oidc.options.public_url.startsWith('https:');
  const hidden = { schema: { hide: true } } as const;
  const redirect = (reply: FastifyReply, url: string) => reply.headers(common).redirect(url);

  /** Only this site sends it back, and only to these addresses. Lax: the provider's page causes the request. */
  const pendingCookie = (pending: Pending | undefined) => {
    const value = pending === undefined ? '' : `${pending.state}.${pending.nonce}.${pending.verifier}`;
    const age = pending === undefined ? 0 : pendingSeconds;
    const attributes = `Path=${oidcPath}; HttpOnly; SameSite=Lax; Max-Age=${age}`;
    const name = 'backscroll_sign_in';
    return isPublicSecure ? `__Secure-${name}=${value}; ${attributes}; Secure` : `${name}=${value}; ${attributes}`;
  };

  app.get(`${oidcPath}/start`, hidden, async (_request, reply) => {
    const started = await oidc.start();
    if (started === undefined) return redirect(reply, problemPage('failed'));
    return redirect(reply.header('set-cookie', pendingCookie(started.pending)), started.url);
  });

  app.get(`${oidcPath}/callback`, hidden, async (request, reply) => {
    const [, state, nonce, verifier] = pendingIn.exec(request.headers.cookie ?? '') ?? [];
    if (state === undefined || nonce === undefined || verifier === undefined)
      return redirect(reply, problemPage('expired'));
    reply.header('set-cookie', pendingCookie(undefined));
    const [, query = ''] = /^[^?]*(\?.*)$/.exec(receivedUrl(request.raw)) ?? [];
    const result = await oidc.finish(query, { state, nonce, verifier });
    if (result.outcome === 'failed') bearer.failedKeys.countFailure(request.ip);
    if (result.outcome !== 'signed in') return redirect(reply, problemPage(result.outcome));
    const { secret } = result;
    const cookie = { secret, seconds: oidc.options.session_seconds, isPublicSecure };
    // Two cookies: Fastify adds this one to the other.
    return redirect(reply.header('set-cookie', setCookie(request.headers, cookie)), '/console#signed-in');
  });

  app.get(`${oidcPath}/sign-out`, hidden, async (_request, reply) => redirect(reply, await oidc.signOutUrl()));

  app.addContentTypeParser(form, jsonReader(in_flight_max));
  app.route({
    method: 'POST',
    url: `${oidcPath}/logout`,
    schema: { hide: true },
    onRequest: requireContentType(form),
    config: { publicBodyBytesMax: logoutBodyBytesMax, parsesBody: true },
    handler: async (request, reply) => {
      const token = new URLSearchParams(`${request.body}`).get('logout_token') ?? '';
      if (await oidc.logout(token)) return reply.headers(common).send();
      bearer.failedKeys.countFailure(request.ip);
      throw invalidParam('logout_token is not valid');
    },
  });
};
