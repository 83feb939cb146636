import { h, useState } from '../../shared/dom.ts';
import { type ApiError, pathOf, request } from '../parts/api.ts';
import type { Key } from '../parts/types.ts';
import { Dialog, ErrorNote } from '../parts/ui.ts';
import { titleOf } from './key-words.ts';

type Props = { of: Key; isOwn: boolean; isLastAdmin: boolean; close: () => void; revoked: (key: Key) => void };

/** Asks once more, by name: a revoked key stays revoked. */
export function KeyRevocation({ of: key, isOwn, isLastAdmin, close, revoked }: Props) {
  const [error, setError] = useState<ApiError>();
  const [isAsking, setAsking] = useState(false);
  const revoke = async () => {
    setAsking(true);
    try {
      const { body } = await request<Key>(pathOf(['admin', 'keys', key.id]), { method: 'DELETE' });
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
    isLastAdmin &&
      h(
        'p',
        { class: 'note warn' },
        'No other admin key in the list is active. A new one is then made where the service runs, with ',
        h('code', null, 'backscroll keys create --kind admin'),
        '.',
      ),
    h(ErrorNote, { error }),
    h(
      'div',
      { class: 'row' },
      h('button', { type: 'button', class: 'danger', disabled: isAsking, onClick: revoke }, 'Revoke'),
      h('button', { type: 'button', autoFocus: true, onClick: close }, 'Keep it'),
    ),
  );
}
