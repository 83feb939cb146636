import { CodeBlock } from '../shared/code-block.ts';
import { iconButton, Mark } from '../shared/controls.ts';
import { el, h, useLayoutEffect, useRef, useState } from '../shared/dom.ts';
import { ErrorNote, useTitle } from './components/ui.ts';
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
  return el('main.alone', [
    el('div.sign-in.stack', [
      el('header.stack', [
        h(Mark, null),
        el('h1', 'Backscroll'),
        el('p.soft', 'Conversations, knowledge bases and models of your AI apps, on your own server.'),
      ]),
      note !== undefined && h('p', { class: 'note', role: 'status' }, note),
      h('form', { class: 'card stack', onSubmit: submit }, [
        isLink ? el('p', 'This link signs you in once, without a key.') : h(KeyField, { field }),
        h(ErrorNote, { error }),
        h('button', { class: 'primary', disabled: isBusy }, isBusy ? 'Signing in…' : 'Sign in'),
      ]),
      !isLink && h(LostKey, null),
    ]),
  ]);
}

/** Password managers store the key under the name of the service. */
function KeyField({ field }: { field: { current: HTMLInputElement | null } }) {
  const [isShown, setShown] = useState(false);
  const label = isShown ? 'Hide the key' : 'Show the key';
  return [
    h('input', {
      class: 'hidden-label',
      value: 'backscroll',
      autoComplete: 'username',
      readOnly: true,
      tabIndex: -1,
      'aria-hidden': true,
    }),
    el('div.stack.tight', [
      h('label', { for: 'admin-key' }, 'Admin key'),
      el('div.secret-field', [
        h('input', {
          id: 'admin-key',
          ref: field,
          name: 'key',
          type: isShown ? 'text' : 'password',
          required: true,
          autoComplete: 'current-password',
          autoCapitalize: 'off',
          spellCheck: false,
        }),
        iconButton('eye', label, { 'aria-pressed': isShown, onClick: () => setShown(!isShown) }),
      ]),
    ]),
  ];
}

const LostKey = () =>
  el('details.soft', [
    el('summary', 'No key, or lost it?'),
    el('div.stack', [
      el('p', 'Create one where the service runs:'),
      h(CodeBlock, { label: 'In its folder', text: 'npx backscroll keys create --kind admin --name "my console"' }),
      h(CodeBlock, {
        label: 'In its container',
        text: 'docker exec NAME node server/bin/backscroll.js keys create --kind admin --name "my console"',
      }),
    ]),
  ]);

/** The service does not report why it rejects a key; these are the possible reasons. */
function explain(error: ApiError, isLink: boolean): ApiError {
  if (error.status !== 401) return error;
  const message = isLink
    ? 'This link was used already, or it is older than ten minutes. Sign in with an admin key.'
    : 'This key does not allow signing in: it is not an admin key, or it has expired or been revoked.';
  return new ApiError(error.status, error.code, message, null);
}
