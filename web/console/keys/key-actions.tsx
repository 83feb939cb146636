import { useContext, useState } from 'preact/hooks';
import { readOnlyKinds } from '../../../server/src/contract/key-kinds.ts';
import { copyText } from '../../shared/controls.tsx';
import { ActionDialog, RenameDialog } from '../components/action-dialog.tsx';
import { ActionsMenu } from '../components/menu.tsx';
import { useAttempt } from '../hooks/requests.ts';
import { pathOf, request } from '../state/api.ts';
import { SessionContext } from '../state/route.ts';
import type { CreatedKey, Key } from '../state/types.ts';
import { KeySecret } from './key-creation.tsx';
import { titleOf } from './key-labels.ts';

type TaskProps = {
  of: Key;
  keys: readonly Key[];
  close: () => void;
  changed: (key: Key, words: string) => void;
  reload: () => void;
};

/** Asks for confirmation, with the key's name: revoking cannot be undone. */
function Revocation({ of: key, keys, close, changed }: TaskProps) {
  const { key_id } = useContext(SessionContext);
  const isAdmin = (one: Key) => one.kind === 'admin' && isActive(one);
  const revoke = async () => {
    const { body } = await request<Key>(pathOf(['admin', 'keys', key.id]), { method: 'DELETE' });
    close();
    changed(body, 'was revoked');
  };
  return (
    <ActionDialog
      title={`Revoke ${titleOf(key)}?`}
      action="Revoke"
      look="danger"
      focusesCancel
      run={revoke}
      close={close}
    >
      <p>
        Requests with this key are rejected, after 5 seconds at the latest. This cannot be undone; you can create a new
        key.
      </p>
      <p class="soft">
        {key.kind} key <code>{key.id}</code>
      </p>
      {key.id === key_id && (
        <p class="note warn">You are signed in with this key: revoking it signs you out at once.</p>
      )}
      {isAdmin(key) && keys.filter(isAdmin).length === 1 && (
        <p class="note warn">
          No other admin key is active. You can then create one only where the service runs, with{' '}
          <code>npx backscroll keys create --kind admin --name NAME</code>.
        </p>
      )}
    </ActionDialog>
  );
}

const Renaming = ({ of: key, close, changed }: TaskProps) => (
  <RenameDialog
    title={`Rename ${titleOf(key)}`}
    name={key.name}
    rename={async (name) => {
      const { body } = await request<Key>(pathOf(['admin', 'keys', key.id]), { method: 'PATCH', body: { name } });
      changed(body, 'has this name now');
    }}
    close={close}
  />
);

/** A new key in place of one whose clients need a day to take it. */
function Rotation({ of: key, close, reload }: TaskProps) {
  const [secret, setSecret] = useState<string>();
  const rotate = async () => {
    const { body } = await request<CreatedKey>(pathOf(['admin', 'keys', key.id, 'rotate']), { method: 'POST' });
    setSecret(body.secret);
    reload();
  };
  if (secret !== undefined)
    return <KeySecret title="The key was rotated" of={{ kind: key.kind, secret }} close={close} />;
  return (
    <ActionDialog title={`Rotate ${titleOf(key)}?`} action="Rotate" focusesCancel run={rotate} close={close}>
      <p>
        You get a new key that allows the same. The old one still works for 24 hours, so that its clients can take the
        new secret.
      </p>
    </ActionDialog>
  );
}

/** What a dialog does with a key. */
export const keyTasks = { rename: Renaming, rotate: Rotation, revoke: Revocation };
export type KeyTask = keyof typeof keyTasks;

const isActive = ({ revoked_at, expires_at }: Key): boolean =>
  revoked_at === null && (expires_at === null || expires_at > Date.now() / 1000);

type MenuProps = { of: Key; changed: (key: Key, words: string) => void; open: (task: KeyTask, key: Key) => void };

/** What can be done with a key that is not revoked. Its access changes without confirmation, because that can be undone. */
export function KeyMenu({ of: key, changed, open }: MenuProps) {
  const { error, isBusy, attempt } = useAttempt();
  const change = () =>
    attempt(async () => {
      const path = pathOf(['admin', 'keys', key.id]);
      const { body } = await request<Key>(path, { method: 'PATCH', body: { read_only: !key.read_only } });
      changed(body, body.read_only ? 'is now read-only' : 'is now read-write');
    });
  return (
    <ActionsMenu
      of={titleOf(key)}
      isBusy={isBusy}
      error={error}
      entries={[
        readOnlyKinds.includes(key.kind) && [key.read_only ? 'Allow writes' : 'Make read-only', change],
        ['Rename', () => open('rename', key)],
        isActive(key) && ['Rotate', () => open('rotate', key)],
        ['Copy ID', () => void copyText(key.id)],
        ['Revoke', () => open('revoke', key)],
      ]}
    />
  );
}
