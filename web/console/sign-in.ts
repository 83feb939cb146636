import { h, useLayoutEffect, useRef, useState } from '../shared/dom.ts';
import { ErrorNote } from './components/error-note.ts';
import { useTitle } from './hooks/use-title.ts';
import { ApiError, request } from './state/api.ts';
import type { ConsoleSession } from './state/types.ts';

type Props = { enter: (session: ConsoleSession) => void; note: string | undefined; token: string | undefined };

/** Exchanges an admin key, or the token of a sign-in link, for a session. The page does not store the key. */
export function SignIn({ enter, note, token }: Props) {
  useTitle('Sign in');
  const [error, setError] = useState<ApiError>();
  const [isBusy, setBusy] = useState(false);
  const [isLink, setLink] = useState(token !== undefined && note === undefined);
  const field = useRef<HTMLInputElement>(null);
  // Needed when a session ends: the browser itself sets the focus only when it loads a page.
  useLayoutEffect(() => field.current?.focus(), [isLink]);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    const key = isLink ? token : String(new FormData(form).get('key') ?? '').trim();
    setBusy(true);
    try {
      const { body } = await request<ConsoleSession>('/console/session', { method: 'POST', body: { key } });
      form.reset();
      enter(body);
    } catch (error) {
      setError(explain(error as ApiError, isLink));
      if ((error as ApiError).status === 401) setLink(false);
      setBusy(false);
    }
  };
  return h(
    'main',
    { class: 'alone' },
    h(
      'form',
      { class: 'card stack', onSubmit: submit },
      h('h1', null, 'Backscroll'),
      note !== undefined && h('p', { class: 'note', role: 'status' }, note),
      isLink ? h('p', null, 'This link signs you in once, without a key.') : h(KeyField, { field }),
      h(ErrorNote, { error }),
      h('button', { class: 'primary', disabled: isBusy }, isBusy ? 'Signing in…' : 'Sign in'),
    ),
  );
}

const KeyField = ({ field }: { field: { current: HTMLInputElement | null } }) => [
  h(
    'p',
    { class: 'soft' },
    'Sign in with an admin key. To create one, run ',
    h('code', null, 'npx backscroll keys create --kind admin'),
    '.',
  ),
  h(
    'label',
    null,
    'Admin key',
    h('input', { ref: field, name: 'key', type: 'password', required: true, autoComplete: 'off', spellCheck: false }),
  ),
];

/** The service does not report why it rejects a key; these are the possible reasons. */
function explain(error: ApiError, isLink: boolean): ApiError {
  if (error.status !== 401) return error;
  const message = isLink
    ? 'This link was used already, or it is older than ten minutes. Sign in with an admin key.'
    : 'This key does not allow signing in: it is not an admin key, or it has expired or been revoked.';
  return new ApiError(error.status, error.code, message, null);
}
