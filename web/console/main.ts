import { h, render, useEffect, useRef, useState } from '../shared/dom.ts';
import { applyTheme } from '../shared/theme.ts';
import { type ApiError, request, whenSignedOut } from './parts/api.ts';
import { mayLeave } from './parts/drafts.ts';
import type { ConsoleSession } from './parts/types.ts';
import { ErrorNote } from './parts/ui.ts';
import { Shell } from './shell.ts';
import { SignIn } from './sign-in.ts';

/** Asks whether there is a session; shows the console or the way in. */
function Console() {
  const [session, setSession] = useState<ConsoleSession | null>();
  const [failed, setFailed] = useState<{ what: string; error: ApiError; again: () => void }>();
  const [note, setNote] = useState<string>();
  /** What is still being asked for when one leaves is refused: no reason to say that the session has ended. */
  const isLeaving = useRef(false);

  const look = () => {
    setFailed(undefined);
    request<ConsoleSession>('/console/session').then(
      ({ body }) => setSession(body),
      (error: ApiError) =>
        error.status === 401
          ? setSession(null)
          : setFailed({ what: 'The console could not be opened.', error, again: look }),
    );
  };
  useEffect(() => {
    whenSignedOut(() => {
      setNote(isLeaving.current ? 'You are signed out.' : 'You were signed out: the session or its key has ended.');
      setSession(null);
    });
    look();
  }, []);

  const enter = (session: ConsoleSession) => {
    isLeaving.current = false;
    setSession(session);
  };
  const signOut = () => {
    isLeaving.current = true;
    setFailed(undefined);
    const left = () => {
      setNote('You are signed out.');
      setSession(null);
    };
    request('/console/session', { method: 'DELETE' }).then(left, (error: ApiError) => {
      // The session had ended by itself.
      if (error.status === 401) return left();
      isLeaving.current = false;
      setFailed({ what: 'You are still signed in.', error, again: signOut });
    });
  };
  const leave = () => mayLeave() && signOut();
  if (failed !== undefined) {
    const { what, error, again } = failed;
    return h(
      'main',
      { class: 'sign-in' },
      h('div', { class: 'stack' }, h('p', null, what), h(ErrorNote, { error, retry: again })),
    );
  }
  if (session === undefined) return null;
  return session === null ? h(SignIn, { enter, note }) : h(Shell, { session, leave });
}

applyTheme();
render(h(Console, null), document.body);
