import { ConsoleSession, SignIn } from '../../contract/admin.ts';
import { openSession } from '../../domain/open-session.ts';
import { sessionDigest, setCookie } from '../auth/session-cookie.ts';
import { responses } from '../openapi/openapi.ts';
import { requireContentType } from '../request/body.ts';
import type { Routes } from '../route-types.ts';

const url = '/console/session';
const about = { tags: ['Admin'] };
const noStore = { 'cache-control': 'no-store' };

/** Signing in to the console, and out. */
export const sessionRoutes: Routes = (app, { store, bearer, clock }) => {
  const seconds = () => Math.floor(clock() / 1000);

  app.route({
    method: 'POST',
    url,
    schema: {
      ...about,
      operationId: 'signIn',
      summary: 'Sign in to the console',
      description:
        'Exchanges an admin key for a session, whose secret comes as the cookie `backscroll_session` and nowhere else.',
      body: SignIn,
      response: responses({ 200: ConsoleSession }, [400, 401, 408, 413, 415]),
    },
    onRequest: requireContentType('application/json'),
    config: { isOpen: true },
    handler: async (request, reply) => {
      const { caller, digest } = await bearer.identify(request, request.body.key);
      const opened = await openSession(store, caller, digest, seconds());
      if (opened === undefined) return bearer.reject(request.ip, 'unknown');
      return reply
        .headers(noStore)
        .header('set-cookie', setCookie(request.headers, opened.secret))
        .send(opened.session);
    },
  });

  app.route({
    method: 'GET',
    url,
    schema: {
      ...about,
      operationId: 'getSession',
      summary: 'Who is signed in?',
      description: 'The session of the console that the cookie stands for.',
      security: [{ consoleSession: [] }],
      response: responses({ 200: ConsoleSession }, [401]),
    },
    handler: async (request, reply) => {
      const session = await bearer.admitSession(request, reply);
      return reply.headers(noStore).send(session);
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
        'Ends the session that the cookie stands for, and clears the cookie. Without a session it does no harm.',
      security: [{ consoleSession: [] }, {}],
      response: responses({ 204: 'Signed out.' }),
    },
    handler: async (request, reply) => {
      const digest = sessionDigest(request.headers);
      // Anybody may ask for this, and only what there is to end is worth a write.
      const session = digest && (await store.sessions.find(digest, seconds()));
      if (digest && session) await store.sessions.end(digest);
      return reply.code(204).headers(noStore).header('set-cookie', setCookie(request.headers, undefined)).send();
    },
  });
};
