import { h } from '../../shared/dom.ts';
import { Dialog, ErrorNote } from '../components/ui.ts';
import { useAttempt } from '../hooks/use-attempt.ts';
import { pathOf, request } from '../state/api.ts';
import { readOnlyKinds } from '../state/server-rules.ts';
import type { Key } from '../state/types.ts';
import { titleOf } from './key-labels.ts';

type RevocationProps = {
  of: Key;
  isOwn: boolean;
  isLastAdmin: boolean;
  close: () => void;
  revoked: (key: Key) => void;
};

/** Asks for confirmation, with the key's name: revoking cannot be undone. */
export function KeyRevocation({ of: key, isOwn, isLastAdmin, close, revoked }: RevocationProps) {
  const { error, isBusy, attempt } = useAttempt();
  const revoke = () =>
    attempt(async () => {
      const { body } = await request<Key>(pathOf(['admin', 'keys', key.id]), { method: 'DELETE' });
      close();
      revoked(body);
    });
  return h(
    Dialog,
    { title: `Revoke ${titleOf(key)}?`, close },
    h(
      'p',
      null,
      'Requests with this key are rejected, after 5 seconds at the latest. This cannot be undone; you can create a new key.',
    ),
    h('p', { class: 'soft' }, `${key.kind} key `, h('code', null, key.id)),
    isOwn && h('p', { class: 'note warn' }, 'You are signed in with this key: revoking it signs you out at once.'),
    isLastAdmin &&
      h(
        'p',
        { class: 'note warn' },
        'No other admin key is active. You can then create one only where the service runs, with ',
        h('code', null, 'npx backscroll keys create --kind admin'),
        '.',
      ),
    h(ErrorNote, { error }),
    h(
      'div',
      { class: 'row' },
      h('button', { type: 'button', class: 'danger', disabled: isBusy, onClick: revoke }, 'Revoke'),
      h('button', { type: 'button', autoFocus: true, onClick: close }, 'Cancel'),
    ),
  );
}

type AccessProps = { of: Key; changed: (key: Key, words: string) => void };

/** Makes a key read-only, or allows it to write. Without confirmation, because it can be undone. */
export function KeyAccess({ of: key, changed }: AccessProps) {
  const { error, isBusy, attempt } = useAttempt();
  if (!readOnlyKinds.includes(key.kind)) return null;
  const change = () =>
    attempt(async () => {
      const path = pathOf(['admin', 'keys', key.id]);
      const { body } = await request<Key>(path, { method: 'PATCH', body: { read_only: !key.read_only } });
      changed(body, body.read_only ? 'is now read-only' : 'is now read-write');
    });
  const label = key.read_only ? 'Allow writes' : 'Make read-only';
  return [
    h(
      'button',
      { type: 'button', class: 'quiet', 'aria-label': `${label}: ${titleOf(key)}`, disabled: isBusy, onClick: change },
      label,
    ),
    h(ErrorNote, { error }),
  ];
}
