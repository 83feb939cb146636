import { h, render, useEffect, useRef, useState } from '../shared/dom.ts';
import { applyTheme, readSetting, storeSetting } from '../shared/settings.ts';
import { ErrorNote } from './components/error-note.ts';
import { Lazy } from './lazy.ts';
import type { ShellProps } from './shell.ts';
import { SignIn } from './sign-in.ts';
import { type ApiError, request, whenSignedOut } from './state/api.ts';
import type { ConsoleSession } from './state/types.ts';

const loadShell = async () => (await import('./shell.ts')).Shell;

/** Shows the console if there is a session, else the form to sign in. */
function Console() {
  const [session, showSession] = useState<ConsoleSession | null>();
  const [failed, setFailed] = useState<{ message: string; error: ApiError; retry: () => void }>();
  const [note, setNote] = useState<string>();
  const [token] = useState(takeToken);
  /** Requests that are under way while the user signs out get 401, which does not mean that the session ended by itself. */
  const isLeaving = useRef(false);

  const setSession = (session: ConsoleSession | null) => {
    storeSetting(place, session === null ? null : 'yes');
    showSession(session);
  };
  const readSession = () => {
    setFailed(undefined);
    request<ConsoleSession>('/console/session').then(
      ({ body }) => setSession(body),
      (error: ApiError) =>
        error.status === 401
          ? setSession(null)
          : setFailed({ message: 'The console could not be loaded.', error, retry: readSession }),
    );
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
    if (token === undefined && readSetting(place) !== null) readSession();
    else showSession(null);
  }, []);

  const enter = (session: ConsoleSession) => {
    isLeaving.current = false;
    setSession(session);
  };
  const signOut = () => {
    isLeaving.current = true;
    setFailed(undefined);
    request('/console/session', { method: 'DELETE' }).then(showSignIn, (error: ApiError) => {
      // The session had already ended.
      if (error.status === 401) return showSignIn();
      isLeaving.current = false;
      setFailed({ message: 'You are still signed in.', error, retry: signOut });
    });
  };
  if (failed !== undefined) {
    const { message, error, retry } = failed;
    return h(
      'main',
      { class: 'alone' },
      h('div', { class: 'stack' }, h('p', null, message), h(ErrorNote, { error, retry })),
    );
  }
  if (session === undefined) return null;
  return session === null
    ? h(SignIn, { enter, note, token })
    : h(Lazy<ShellProps>, { load: loadShell, props: { session, signOut } });
}

/** The token of a sign-in link, `#sign-in=…`. It is removed from the address, and so from the history. */
function takeToken(): string | undefined {
  const [, token] = /^#sign-in=([\w-]+)$/.exec(location.hash) ?? [];
  if (token !== undefined) history.replaceState(null, '', location.pathname);
  return token;
}

/**
 * Storage key for the hint that there may be a session: scripts cannot read its cookie, and a request without a session would be
 * an error in the log of the browser at every first visit.
 */
const place = 'backscroll-signed-in';

applyTheme();
render(h(Console, null), document.body);
