import { readOnlyKinds } from '../../../server/src/contract/key-kinds.ts';
import { Button } from '../../shared/controls.tsx';
import { Menu } from '../components/menu.tsx';
import { Dialog, ErrorNote } from '../components/ui.tsx';
import { useAttempt } from '../hooks/requests.ts';
import { pathOf, request } from '../state/api.ts';
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
  return (
    <Dialog title={`Revoke ${titleOf(key)}?`} close={close}>
      <p>
        Requests with this key are rejected, after 5 seconds at the latest. This cannot be undone; you can create a new
        key.
      </p>
      <p class="soft">
        {key.kind} key <code>{key.id}</code>
      </p>
      {isOwn && <p class="note warn">You are signed in with this key: revoking it signs you out at once.</p>}
      {isLastAdmin && (
        <p class="note warn">
          No other admin key is active. You can then create one only where the service runs, with{' '}
          <code>npx backscroll keys create --kind admin --name NAME</code>.
        </p>
      )}
      <ErrorNote error={error} />
      <div class="row">
        <Button class="danger" disabled={isBusy} onClick={revoke}>
          Revoke
        </Button>
        <Button autoFocus onClick={close}>
          Cancel
        </Button>
      </div>
    </Dialog>
  );
}

type MenuProps = { of: Key; changed: (key: Key, words: string) => void; revoke: (key: Key) => void };

/** What can be done with a key that is not revoked. Its access changes without confirmation, because that can be undone. */
export function KeyMenu({ of: key, changed, revoke }: MenuProps) {
  const { error, isBusy, attempt } = useAttempt();
  const change = () =>
    attempt(async () => {
      const path = pathOf(['admin', 'keys', key.id]);
      const { body } = await request<Key>(path, { method: 'PATCH', body: { read_only: !key.read_only } });
      changed(body, body.read_only ? 'is now read-only' : 'is now read-write');
    });
  const entry = (label: string, onClick: () => void) => (
    <Button class="quiet entry" aria-label={`${label}: ${titleOf(key)}`} disabled={isBusy} onClick={onClick}>
      {label}
    </Button>
  );
  return (
    <>
      <Menu class="actions-menu" label={`Actions of ${titleOf(key)}`} icon="more">
        {readOnlyKinds.includes(key.kind) && entry(key.read_only ? 'Allow writes' : 'Make read-only', change)}
        {entry('Revoke', () => revoke(key))}
      </Menu>
      <ErrorNote error={error} />
    </>
  );
}
