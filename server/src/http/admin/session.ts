import type { FastifyRequest } from 'fastify';
import type { Static } from 'typebox';
import { ConsoleSession, SignIn } from '../../contract/admin.ts';
import { limits } from '../../contract/limits.ts';
import { ServiceError } from '../../domain/errors.ts';
import { exchangeSignInToken, openSession } from '../../domain/keys/open-session.ts';
import { isSignInToken } from '../../domain/secret.ts';
import type { StoredSession } from '../../domain/store/keys.ts';
import { sessionDigest, setCookie } from '../auth/session-cookie.ts';
import { responses } from '../openapi/openapi.ts';
import { requireContentType } from '../request/body.ts';
import { type Routes, together } from '../route-types.ts';
import { oidcRoutes } from './oidc.ts';

const url = '/console/session';
const about = { tags: ['Admin'] };
const noStore = { 'cache-control': 'no-store' };

/** Sign-in to the console with a key, and sign-out. */
const keySessionRoutes: Routes = (app, { store, bearer, clock, sign_in }) => {
  const seconds = () => Math.floor(clock() / 1000);

  const bodyOf = ({ issuer: _, ...session }: StoredSession) => session;

  const signIn = async (request: FastifyRequest<{ Body: Static<typeof SignIn> }>) => {
    const { key } = request.body;
    if (sign_in === 'oidc') throw new ServiceError('unauthorized', 'no key opens the console: sign in by name');
    if (isSignInToken(key)) return exchangeSignInToken(store, key, seconds());
    const { caller, digest } = await bearer.requireAdminSecret(request, key);
    return openSession(store, caller, digest, seconds());
  };

  app.route({
    method: 'POST',
    url,
    schema: {
      ...about,
      operationId: 'signIn',
      summary: 'Sign in to the console',
      description:
        'Exchanges an admin key, or the token of a sign-in link, for a session. The secret of the session is only in the cookie `backscroll_session`.',
      body: SignIn,
      response: responses({ 200: ConsoleSession }, [400, 401, 408, 413, 415]),
    },
    onRequest: requireContentType('application/json'),
    config: { publicBodyBytesMax: limits.signInBodyBytesMax },
    handler: async (request, reply) => {
      const created = await signIn(request);
      if (created === undefined) return bearer.failedKeys.reject(request.ip, 'unknown');
      return reply
        .headers(noStore)
        .header('set-cookie', setCookie(request.headers, { secret: created.secret, seconds: limits.sessionSeconds }))
        .send(bodyOf(created.session));
    },
  });

  app.route({
    method: 'GET',
    url,
    schema: {
      ...about,
      operationId: 'getSession',
      summary: 'Get the console session',
      description: 'The console session of the cookie.',
      security: [{ consoleSession: [] }],
      response: responses({ 200: ConsoleSession }, [401]),
    },
    handler: async (request, reply) => {
      const session = await bearer.requireSession(request, reply);
      return reply.headers(noStore).send(bodyOf(session));
    },
  });

  app.route({
    method: 'DELETE',
    url,
    schema: {
      ...about,
      operationId: 'signOut',
      summary: 'Sign out of the console',
      description:
        'Ends the session of the cookie and clears the cookie. Without a session, it only clears the cookie.',
      security: [{ consoleSession: [] }, {}],
      response: responses({ 204: 'Signed out.' }),
    },
    handler: async (request, reply) => {
      const digest = sessionDigest(request.headers);
      // Anyone may send this request, so it writes only if there is a session to end.
      const session = digest && (await store.findSession(digest, seconds()));
      if (digest && session) await store.run('endSession', digest);
      return reply
        .code(204)
        .headers(noStore)
        .header('set-cookie', setCookie(request.headers, { secret: undefined, seconds: 0 }))
        .send();
    },
  });
};

export const sessionRoutes = together(keySessionRoutes, oidcRoutes);
