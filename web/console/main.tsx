import { render } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { orElse } from '../shared/or-else.ts';
import { applyTheme } from '../shared/settings.tsx';
import { readSetting, storeSetting } from '../shared/stored.ts';
import './common.ts';
import { ErrorNote } from './components/ui.tsx';
import { Shell } from './shell.tsx';
import { problems, SignIn, takeLeftView } from './sign-in.tsx';
import { type ApiError, request, whenSignedOut } from './state/api.ts';
import { noSession, SessionContext } from './state/route.ts';
import type { ConsoleSession } from './state/types.ts';

/** Shows the console if there is a session, else the form to sign in. */
function Console() {
  const [token] = useState(takeToken);
  const [note, setNote] = useState(takeProblem);
  const [session, showSession] = useState<ConsoleSession | null>(() => (token === undefined ? lastSession() : null));
  const [failed, setFailed] = useState<ApiError>();
  /** Requests that are under way while the user signs out get 401, which does not mean that the session ended by itself. */
  const isLeaving = useRef(false);

  const setSession = (session: ConsoleSession | null) => {
    storeSetting(place, session && JSON.stringify(session));
    showSession(session);
  };
  const showSignIn = () => {
    setNote(
      isLeaving.current
        ? 'You are signed out.'
        : 'You were signed out: the session has ended, or its key has expired or been revoked.',
    );
    setSession(null);
  };
  useEffect(() => {
    whenSignedOut(showSignIn);
    if (session === null) return;
    // The views read at the same time, and report what else fails.
    request<ConsoleSession>('/console/session').then(
      ({ body }) => setSession(body),
      (error: ApiError) => error.status === 401 && showSignIn(),
    );
  }, []);

  const enter = (session: ConsoleSession) => {
    isLeaving.current = false;
    setSession(session);
  };
  const signOut = () => {
    isLeaving.current = true;
    setFailed(undefined);
    const leave = () => {
      const { person_id } = session ?? noSession;
      showSignIn();
      // At the provider, too: otherwise the next click would sign the same person in.
      if (person_id !== null) location.assign('/console/oidc/sign-out');
    };
    request('/console/session', { method: 'DELETE' }).then(leave, (error: ApiError) => {
      // The session had already ended.
      if (error.status === 401) return showSignIn();
      isLeaving.current = false;
      setFailed(error);
    });
  };
  if (failed !== undefined)
    return (
      <main class="alone">
        <div class="stack">
          <p>You are still signed in.</p>
          <ErrorNote error={failed} retry={signOut} />
        </div>
      </main>
    );
  if (session === null) return <SignIn enter={enter} note={note} token={token} />;
  return (
    <SessionContext.Provider value={session}>
      <Shell session={session} signOut={signOut} />
    </SessionContext.Provider>
  );
}

/** The token of a sign-in link, `#sign-in=…`. It is removed from the address, and so from the history. */
function takeToken(): string | undefined {
  const [, token] = /^#sign-in=([\w-]+)$/.exec(location.hash) ?? [];
  if (token !== undefined) history.replaceState(null, '', location.pathname);
  return token;
}

/** Why a sign-in by name led to no session, `#problem=…`, or undefined. After one that did, `#signed-in`, the view is as before it. */
function takeProblem(): string | undefined {
  const [, problem, isSignedIn] = /^#(?:problem=(\w+)|(signed-in))$/.exec(location.hash) ?? [];
  if (problem === undefined && isSignedIn === undefined) return undefined;
  history.replaceState(null, '', `${location.pathname}${takeLeftView()}`);
  if (isSignedIn !== undefined) storeSetting(place, '{}');
  return problem && (problems[problem] ?? problems.failed);
}

/**
 * Storage key for the session that there may be, with the name of its key: scripts cannot read its cookie. With it the views are
 * shown at once; without it nothing is requested, which would be an error in the log of the browser at every first visit.
 */
const place = 'backscroll-signed-in';

function lastSession(): ConsoleSession | null {
  const stored = readSetting(place);
  return stored === null ? null : { ...noSession, ...orElse(() => JSON.parse(stored ?? '{}'), {}) };
}

applyTheme();
document.body.replaceChildren();
render(<Console />, document.body);
