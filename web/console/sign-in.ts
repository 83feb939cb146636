import { h, useState } from '../shared/dom.ts';
import { type ApiError, ask } from './api.ts';
import type { ConsoleSession } from './types.ts';
import { ErrorNote } from './ui.ts';

/** Exchanges an admin key for a session. The key leaves this page with the request and is not kept. */
export function SignIn({ enter, note }: { enter: (session: ConsoleSession) => void; note: string | undefined }) {
  const [error, setError] = useState<ApiError>();
  const [isAsking, setAsking] = useState(false);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    const key = String(new FormData(form).get('key') ?? '').trim();
    setAsking(true);
    try {
      const { body } = await ask<ConsoleSession>('/console/session', { method: 'POST', body: { key } });
      form.reset();
      enter(body);
    } catch (error) {
      setError(error as ApiError);
      setAsking(false);
    }
  };
  return h(
    'main',
    { class: 'sign-in' },
    h(
      'form',
      { class: 'card stack', onSubmit: submit },
      h('h1', null, 'Backscroll'),
      h(
        'p',
        { class: 'soft' },
        'Sign in with an admin key. Make one with ',
        h('code', null, 'backscroll keys create --kind admin'),
        '.',
      ),
      note !== undefined && h('p', { class: 'note', role: 'status' }, note),
      h(
        'label',
        null,
        'Admin key',
        h('input', {
          name: 'key',
          type: 'password',
          required: true,
          autoComplete: 'off',
          autoFocus: true,
          spellCheck: false,
        }),
      ),
      h(ErrorNote, { error }),
      h('button', { class: 'primary', disabled: isAsking }, isAsking ? 'Signing in…' : 'Sign in'),
    ),
  );
}
