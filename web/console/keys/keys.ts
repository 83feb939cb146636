import { h, useState } from '../../shared/dom.ts';
import { FilterChips } from '../components/chips.ts';
import { Page } from '../components/page.ts';
import { FilterSearch } from '../components/search-field.ts';
import { type Column, DataTable } from '../components/table.ts';
import { counted, ListEnd, Time } from '../components/ui.ts';
import { useAll } from '../hooks/use-all.ts';
import { useRecord } from '../hooks/use-record.ts';
import { useFilters, type ViewProps } from '../state/route.ts';
import { keyKinds } from '../state/server-rules.ts';
import type { Key } from '../state/types.ts';
import { KeyAccess, KeyRevocation } from './key-actions.ts';
import { KeyCreation } from './key-creation.ts';
import { hasWords, type KeyState, keyStates, newestFirst, reachOf, stateOf, titleOf } from './key-labels.ts';

export function KeysView({ session }: ViewProps) {
  const list = useAll<Key>('/admin/keys');
  const { q = '', kind, state } = useFilters().filters;
  /** The open dialog: for a new key, or to revoke a key. */
  const [dialog, setDialog] = useState<'new' | Key>();
  const [message, setMessage] = useState('');
  /** The keys that were changed here, newest first. */
  const [edited, setEdited] = useState<readonly Key[]>([]);
  const keys = list.rows.map((row) => edited.find(({ id }) => id === row.id) ?? row);
  const now = Date.now() / 1000;
  const named = keys.filter((key) => hasWords(key, q)).toSorted(newestFirst);
  const ofKind = (key: Key) => kind === undefined || key.kind === kind;
  const inState = (key: Key) => state === undefined || stateOf(key, now) === state;
  const shown = named.filter((key) => ofKind(key) && inState(key));
  const close = () => setDialog(undefined);
  const changed = (key: Key, words: string) => {
    setEdited([key, ...edited]);
    // The session has ended with its key: the next response is 401.
    if (key.id === session.key_id && key.revoked_at !== null) list.reload();
    setMessage(`${titleOf(key)} ${words}.`);
  };
  /** Chips for the values of a filter, with the number of keys that match each and the other filters. */
  const chips = (label: string, values: readonly string[], keys: readonly Key[], of: (key: Key) => string) =>
    h(FilterChips, {
      label,
      name: label.toLowerCase(),
      values: values.map((value) => [value, value] as const),
      countOf: list.rows.length === 0 ? undefined : (value) => keys.filter((key) => of(key) === value).length,
    });
  return h(
    Page,
    {
      title: 'Keys',
      actions: h('button', { type: 'button', class: 'primary', onClick: () => setDialog('new') }, 'New key'),
    },
    h(FilterSearch, { label: 'Search keys by name or id' }),
    h(
      'div',
      { class: 'row' },
      chips('State', keyStates, named.filter(ofKind), (key) => stateOf(key, now)),
      chips('Kind', keyKinds, named.filter(inState), (key) => key.kind),
      h('span', { class: 'soft', role: 'status' }, countText(shown.length, list.rows.length)),
    ),
    h(DataTable<Key>, {
      label: 'Keys',
      columns: columns(now, session.key_id, changed, setDialog),
      rows: shown,
      modelKeyOf: ({ id }) => id,
    }),
    h('p', { class: 'hidden-label', role: 'status' }, message),
    shown.length === 0 && list.rows.length > 0 && h('p', { class: 'soft' }, 'No key matches these filters.'),
    h(ListEnd, { list, nothing: 'There are no keys yet.' }),
    dialog === 'new' && h(KeyCreation, { close, created: list.reload }),
    typeof dialog === 'object' &&
      h(KeyRevocation, {
        of: dialog,
        isOwn: dialog.id === session.key_id,
        isLastAdmin: isLastAdmin(dialog, keys, now),
        close,
        revoked: (key) => changed(key, 'was revoked'),
      }),
  );
}

function isLastAdmin(key: Key, rows: readonly Key[], now: number): boolean {
  const admins = rows.filter((row) => row.kind === 'admin' && ['active', 'expires soon'].includes(stateOf(row, now)));
  return admins.length === 1 && admins[0]?.id === key.id;
}

function countText(shown: number, rows: number): string {
  if (rows === 0) return '';
  return shown === rows ? counted(rows, 'key') : `${shown} of ${counted(rows, 'key')}`;
}

/** Red is for danger: a key that was revoked is none. */
const badges: Record<KeyState, string> = { active: 'good', 'expires soon': 'warn', expired: '', revoked: '' };

const State = ({ state }: { state: KeyState }) => h('span', { class: `badge ${badges[state]}` }, state);

function columns(
  now: number,
  ownId: string,
  changed: (key: Key, words: string) => void,
  revoke: (key: Key) => void,
): Column<Key>[] {
  return [
    {
      title: 'Key',
      cell: (key) =>
        h(
          'div',
          null,
          h('strong', { title: `key ${key.id}` }, titleOf(key)),
          key.id === ownId && h('p', { class: 'soft' }, 'you are signed in with this key'),
        ),
    },
    { title: 'Kind', cell: (key) => h(Kind, { of: key }) },
    { title: 'Allows', cell: (key) => h(Reach, { of: key }) },
    { title: 'State', cell: (key) => h(State, { state: stateOf(key, now) }) },
    { title: 'Created', cell: (key) => h(Time, { at: key.created_at }) },
    { title: 'Ends', cell: (key) => h(Time, { at: key.revoked_at ?? key.expires_at }) },
    { title: 'Last used', cell: (key) => h(Time, { at: key.last_used_at }) },
    {
      title: 'Actions',
      cell: (key) =>
        key.revoked_at === null &&
        h(
          'div',
          { class: 'row key-actions' },
          h(KeyAccess, { of: key, changed }),
          h(
            'button',
            { type: 'button', class: 'quiet', 'aria-label': `Revoke ${titleOf(key)}`, onClick: () => revoke(key) },
            'Revoke',
          ),
        ),
    },
  ];
}

const Kind = ({ of: { kind, read_only } }: { of: Key }) =>
  h('div', null, kind, read_only && [' ', h('span', { class: 'badge' }, 'read-only')]);

/** The names of more datasets are not shown: each is a request, and a key may have a thousand. */
const namedMax = 5;

function Reach({ of: key }: { of: Key }) {
  const { words, list, ids } = reachOf(key);
  const more = ids.length - namedMax;
  return h(
    'span',
    null,
    words,
    ids.slice(0, namedMax).map((id, at) => [at === 0 ? ' ' : ', ', h(Name, { key: id, list, id })]),
    more > 0 && ` and ${more} more`,
  );
}

/** The name of a record; its id until the name is loaded, or if there is none. */
function Name({ list, id }: { list: string; id: string }) {
  return useRecord<{ name: string }>(['admin', list, id])?.name || id;
}
