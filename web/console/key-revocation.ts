import { h, useState } from '../shared/dom.ts';
import { type ApiError, ask, pathOf } from './api.ts';
import { titleOf } from './key-words.ts';
import type { Key } from './types.ts';
import { Dialog, ErrorNote } from './ui.ts';

type Props = { of: Key; isOwn: boolean; close: () => void; revoked: (key: Key) => void };

/** Asks once more, by name: a revoked key stays revoked. */
export function KeyRevocation({ of: key, isOwn, close, revoked }: Props) {
  const [error, setError] = useState<ApiError>();
  const [isAsking, setAsking] = useState(false);
  const revoke = async () => {
    setAsking(true);
    try {
      const { body } = await ask<Key>(pathOf(['admin', 'keys', key.id]), { method: 'DELETE' });
      close();
      revoked(body);
    } catch (error) {
      setError(error as ApiError);
      setAsking(false);
    }
  };
  return h(
    Dialog,
    { title: `Revoke ${titleOf(key)}?`, close },
    h(
      'p',
      null,
      'Whoever uses this key is refused, after 5 seconds at the latest. This cannot be undone; a new key can be made.',
    ),
    h('p', { class: 'soft' }, `${key.kind} key `, h('code', null, key.id)),
    isOwn &&
      h('p', { class: 'note warn' }, 'You are signed in with this very key: revoking it signs you out, here and now.'),
    h(ErrorNote, { error }),
    h(
      'div',
      { class: 'row' },
      h('button', { type: 'button', class: 'danger', disabled: isAsking, onClick: revoke }, 'Revoke'),
      h('button', { type: 'button', autoFocus: true, onClick: close }, 'Keep it'),
    ),
  );
}
