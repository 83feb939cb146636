import { h, render, useEffect, useState } from '../shared/dom.ts';
import { applyTheme } from '../shared/theme.ts';
import { type ApiError, ask, whenSignedOut } from './api.ts';
import { Shell } from './shell.ts';
import { SignIn } from './sign-in.ts';
import type { ConsoleSession } from './types.ts';
import { ErrorNote } from './ui.ts';
import { mayLeave } from './unsaved.ts';

/** Asks whether there is a session; shows the console or the way in. */
function Console() {
  const [session, setSession] = useState<ConsoleSession | null>();
  const [error, setError] = useState<ApiError>();
  const [note, setNote] = useState<string>();

  const look = () => {
    setError(undefined);
    ask<ConsoleSession>('/console/session').then(
      ({ body }) => setSession(body),
      (error: ApiError) => (error.status === 401 ? setSession(null) : setError(error)),
    );
  };
  useEffect(() => {
    whenSignedOut(() => {
      setNote('You were signed out: the session or its key has ended.');
      setSession(null);
    });
    look();
  }, []);

  const leave = () => {
    if (!mayLeave()) return;
    ask('/console/session', { method: 'DELETE' }).then(
      () => {
        setNote('You are signed out.');
        setSession(null);
      },
      (error: ApiError) => setError(error),
    );
  };
  if (error !== undefined) return h('main', { class: 'sign-in' }, h(ErrorNote, { error, retry: look }));
  if (session === undefined) return null;
  return session === null ? h(SignIn, { enter: setSession, note }) : h(Shell, { session, leave });
}

applyTheme();
render(h(Console, null), document.body);
