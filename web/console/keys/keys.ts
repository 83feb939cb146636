import { h, useState } from '../../shared/dom.ts';
import type { ViewProps } from '../parts/route.ts';
import { keyKinds, limits } from '../parts/server-rules.ts';
import type { Key } from '../parts/types.ts';
import { ListEnd, Time } from '../parts/ui.ts';
import { useList } from '../parts/use-list.ts';
import { useRecord } from '../parts/use-record.ts';
import { useTitle } from '../parts/use-title.ts';
import { KeyAccess } from './key-access.ts';
import { KeyCreation } from './key-creation.ts';
import { KeyRevocation } from './key-revocation.ts';
import { keyStates, reachOf, stateOf, titleOf } from './key-words.ts';

/** The open dialog: for a new key, or to revoke a key. */
type OpenDialog = 'new' | Key | undefined;

export function KeysView({ session }: ViewProps) {
  useTitle('Keys');
  const list = useList<Key>(`/admin/keys?limit=${limits.listRowsMax}`);
  const [kind, setKind] = useState('');
  const [state, setState] = useState('');
  const [dialog, setDialog] = useState<OpenDialog>();
  const [message, setMessage] = useState('');
  const now = Date.now() / 1000;
  const shown = list.rows.filter(
    (key) => (kind === '' || key.kind === kind) && (state === '' || stateOf(key, now) === state),
  );
  const close = () => setDialog(undefined);
  const changed = (key: Key, words: string) => {
    list.change((row) => (row.id === key.id ? key : row));
    setMessage(`${titleOf(key)} ${words}.`);
  };
  const revoked = (key: Key) => {
    changed(key, 'was revoked');
    // The session has ended with its key: the next response is 401.
    if (key.id === session.key_id) list.reload();
  };
  return h(
    'div',
    { class: 'stack keys' },
    h(
      'div',
      { class: 'row' },
      h('h1', null, 'Keys'),
      h('button', { type: 'button', class: 'primary', onClick: () => setDialog('new') }, 'New key'),
    ),
    h(
      'div',
      { class: 'row' },
      h(Choice, { label: 'Kind', any: 'Any kind', values: keyKinds, value: kind, choose: setKind }),
      h(Choice, { label: 'State', any: 'Any state', values: keyStates, value: state, choose: setState }),
      h('span', { class: 'soft', role: 'status' }, counted(shown.length, list.rows.length, list.hasMore)),
    ),
    h(
      'ul',
      { class: 'key-list' },
      shown.map((key) =>
        h(KeyRow, {
          key: key.id,
          of: key,
          now,
          isOwn: key.id === session.key_id,
          changed,
          revoke: () => setDialog(key),
        }),
      ),
    ),
    h('p', { class: 'hidden-label', role: 'status' }, message),
    shown.length === 0 && list.rows.length > 0 && h('p', { class: 'soft' }, 'No key of this kind and state.'),
    h(ListEnd, { list, nothing: 'There are no keys yet.' }),
    dialog === 'new' && h(KeyCreation, { close, created: list.reload }),
    typeof dialog === 'object' &&
      h(KeyRevocation, {
        of: dialog,
        isOwn: dialog.id === session.key_id,
        isLastAdmin: isLastAdmin(dialog, list.rows, now),
        close,
        revoked,
      }),
  );
}

function isLastAdmin(key: Key, rows: readonly Key[], now: number): boolean {
  const admins = rows.filter((row) => row.kind === 'admin' && stateOf(row, now) === 'active');
  return admins.length === 1 && admins[0]?.id === key.id;
}

function counted(shown: number, rows: number, hasMore: boolean): string {
  if (rows === 0) return '';
  const all = `${hasMore ? 'the first ' : ''}${rows === 1 ? '1 key' : `${rows} keys`}`;
  return shown === rows ? all : `${shown} of ${all}`;
}

type ChoiceProps = {
  label: string;
  any: string;
  values: readonly string[];
  value: string;
  choose: (value: string) => void;
};

function Choice({ label, any, values, value, choose }: ChoiceProps) {
  return h(
    'label',
    null,
    h('span', { class: 'hidden-label' }, label),
    h(
      'select',
      { value, onChange: (event: Event) => choose((event.target as HTMLSelectElement).value) },
      h('option', { value: '' }, any),
      values.map((one) => h('option', { value: one }, one)),
    ),
  );
}

const badges = { active: 'good', expired: 'warn', revoked: 'bad' };

type RowProps = {
  of: Key;
  now: number;
  isOwn: boolean;
  changed: (key: Key, words: string) => void;
  revoke: () => void;
};

function KeyRow({ of: key, now, isOwn, changed, revoke }: RowProps) {
  const state = stateOf(key, now);
  const title = titleOf(key);
  return h(
    'li',
    { class: 'card' },
    h(
      'div',
      { class: 'key-head' },
      h('strong', { title: `key ${key.id}` }, title),
      h('span', { class: 'badge' }, key.kind),
      h('span', { class: `badge ${badges[state]}` }, state),
      key.read_only && h('span', { class: 'badge' }, 'read-only'),
      isOwn && h('span', { class: 'soft' }, 'you are signed in with this key'),
      h(Reach, { of: key }),
    ),
    h(
      'dl',
      null,
      h('div', null, h('dt', null, 'created'), h('dd', null, h(Time, { at: key.created_at }))),
      key.revoked_at === null
        ? h(
            'div',
            null,
            h('dt', null, state === 'expired' ? 'expired' : 'expires'),
            h('dd', null, h(Time, { at: key.expires_at })),
          )
        : h('div', null, h('dt', null, 'revoked'), h('dd', null, h(Time, { at: key.revoked_at }))),
      h('div', null, h('dt', null, 'last used'), h('dd', null, h(Time, { at: key.last_used_at }))),
    ),
    state === 'revoked'
      ? h('span', null)
      : h(
          'div',
          { class: 'key-actions' },
          h(KeyAccess, { of: key, changed }),
          h('button', { type: 'button', class: 'danger', 'aria-label': `Revoke ${title}`, onClick: revoke }, 'Revoke'),
        ),
  );
}

/** The names of more datasets are not shown: each is a request, and a key may have a thousand. */
const namedMax = 5;

function Reach({ of: key }: { of: Key }) {
  const { words, list, ids } = reachOf(key);
  const more = ids.length - namedMax;
  return h(
    'p',
    { class: 'soft' },
    words,
    ids.slice(0, namedMax).map((id, at) => [at === 0 ? ' ' : ', ', h(Name, { key: id, list, id })]),
    more > 0 && ` and ${more} more`,
  );
}

/** The name of a record; its id until the name is loaded, or if there is none. */
function Name({ list, id }: { list: string; id: string }) {
  return useRecord<{ name: string }>(['admin', list, id])?.name || id;
}
