import { h, useLayoutEffect, useRef, useState } from '../shared/dom.ts';
import { ApiError, request } from './parts/api.ts';
import type { ConsoleSession } from './parts/types.ts';
import { ErrorNote } from './parts/ui.ts';

/** Exchanges an admin key for a session. The key leaves this page with the request and is not kept. */
export function SignIn({ enter, note }: { enter: (session: ConsoleSession) => void; note: string | undefined }) {
  const [error, setError] = useState<ApiError>();
  const [isAsking, setAsking] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  // Also where a session ends: the browser itself does so only when it loads a page.
  useLayoutEffect(() => field.current?.focus(), []);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    const key = String(new FormData(form).get('key') ?? '').trim();
    setAsking(true);
    try {
      const { body } = await request<ConsoleSession>('/console/session', { method: 'POST', body: { key } });
      form.reset();
      enter(body);
    } catch (error) {
      setError(inWords(error as ApiError));
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
          ref: field,
          name: 'key',
          type: 'password',
          required: true,
          autoComplete: 'off',
          spellCheck: false,
        }),
      ),
      h(ErrorNote, { error }),
      h('button', { class: 'primary', disabled: isAsking }, isAsking ? 'Signing in…' : 'Sign in'),
    ),
  );
}

/** The service tells nobody what is wrong with a key; this much holds of every key that it refuses. */
function inWords(error: ApiError): ApiError {
  if (error.status !== 401) return error;
  const words = 'This key does not open the console: it is no admin key, or has expired or been revoked.';
  return new ApiError(error.status, error.code, words, error.requestId);
}
