import type { TargetedSubmitEvent } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { CodeBlock } from '../shared/code-block.tsx';
import { IconButton, Mark } from '../shared/controls.tsx';
import { ErrorNote, useTitle } from './components/ui.tsx';
import { type ApiError, request } from './state/api.ts';
import type { ConsoleSession } from './state/types.ts';

/** Why a sign-in by name failed: the service names the problem. */
export const problems: Readonly<Record<string, string>> = {
  no_role: 'Your account has no access to this installation. Ask those who run it for a role, then sign in again.',
  blocked: 'Your account is blocked in this installation. Ask those who run it.',
  expired: 'The sign-in took longer than ten minutes, or the browser keeps no cookies. Try again.',
  failed:
    'The sign-in failed. Try again; if it fails again, ask those who run this installation: its log has the reason.',
};

/** The view that was left to sign in at the provider. */
const leftView = 'backscroll-left-view';

const noteLeftView = () => sessionStorage.setItem(leftView, location.hash);

export function takeLeftView(): string {
  const view = sessionStorage.getItem(leftView) ?? '';
  sessionStorage.removeItem(leftView);
  return /^#[/]/.test(view) ? view : '';
}

type Props = { enter: (session: ConsoleSession) => void; note: string | undefined; token: string | undefined };

/** Exchanges an admin key, or the token of a sign-in link, for a session. The page does not store the key. */
export function SignIn({ enter, note, token }: Props) {
  useTitle('Sign in');
  const { oidc, keys } = document.documentElement.dataset;
  const [error, setError] = useState<Error>();
  const [isBusy, setBusy] = useState(false);
  const [isLink, setLink] = useState(token !== undefined && note === undefined);
  const field = useRef<HTMLInputElement>(null);
  // Needed when a session ends: the browser itself sets the focus only when it loads a page.
  useLayoutEffect(() => field.current?.focus(), [isLink]);
  const submit = async (event: TargetedSubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = event.currentTarget;
    const key = isLink ? token : String(new FormData(form).get('key') ?? '').trim();
    setBusy(true);
    try {
      const { body } = await request<ConsoleSession>('/console/session', { method: 'POST', body: { key } });
      form.reset();
      enter(body);
    } catch (error) {
      const isRejected = (error as ApiError).status === 401;
      setError(isRejected ? rejected(isLink) : (error as ApiError));
      if (isRejected) setLink(false);
      setBusy(false);
    }
  };
  return (
    <main class="alone">
      <div class="sign-in stack">
        <header class="stack">
          <Mark />
          <h1>Backscroll</h1>
          <p class="soft">Conversations, knowledge bases and models of your AI apps, on your own server.</p>
        </header>
        {note !== undefined && (
          <p class="note" role="status">
            {note}
          </p>
        )}
        {/* A link, so that the browser goes to the provider. */}
        {oidc !== undefined && (
          <a class="button primary" href="/console/oidc/start" onClick={noteLeftView}>
            Sign in with {oidc}
          </a>
        )}
        {keys !== 'off' && (
          <form class="card stack" onSubmit={submit}>
            {isLink ? <p>This link signs you in once, without a key.</p> : <KeyField field={field} />}
            <ErrorNote error={error} />
            <button type="submit" class={oidc === undefined ? 'primary' : ''} disabled={isBusy}>
              {isBusy ? 'Signing in…' : 'Sign in'}
            </button>
          </form>
        )}
        <p class="installation soft small">{location.host}</p>
        {!isLink && keys !== 'off' && <LostKey />}
      </div>
    </main>
  );
}

/** Password managers store the key under the name of the service. */
function KeyField({ field }: { field: { current: HTMLInputElement | null } }) {
  const [isShown, setShown] = useState(false);
  const label = isShown ? 'Hide the key' : 'Show the key';
  return (
    <>
      <input class="hidden-label" value="backscroll" autoComplete="username" readOnly tabIndex={-1} aria-hidden />
      <div class="stack tight">
        <label for="admin-key">Admin key</label>
        <div class="secret-field">
          <input
            id="admin-key"
            ref={field}
            name="key"
            {...(isShown ? { type: 'text' } : { type: 'password' })}
            required
            autoComplete="current-password"
            autoCapitalize="off"
            spellcheck={false}
          />
          <IconButton icon="eye" label={label} aria-pressed={isShown} onClick={() => setShown(!isShown)} />
        </div>
      </div>
    </>
  );
}

const LostKey = () => (
  <details class="soft">
    <summary>No key, or lost it?</summary>
    <div class="stack">
      <p>Create one where the service runs:</p>
      <CodeBlock label="In its folder" text={'npx backscroll keys create --kind admin --name "my console"'} />
      <CodeBlock
        label="In its container"
        text={'docker exec NAME node server/bin/backscroll.js keys create --kind admin --name "my console"'}
      />
    </div>
  </details>
);

/** The service does not report why it rejects a key; these are the possible reasons. */
const rejected = (isLink: boolean): Error =>
  new Error(
    isLink
      ? 'This link was used already, or it is older than ten minutes. Sign in with an admin key.'
      : 'This key does not allow signing in: it is not an admin key, or it has expired or been revoked.',
  );
