import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { keyKinds } from '../../../server/src/contract/key-kinds.ts';
import { Button } from '../../shared/controls.tsx';
import { FilterChips, FilterSearch } from '../components/filters.tsx';
import { contains } from '../components/marked-text.tsx';
import { type Column, DataTable } from '../components/table.tsx';
import { capital, counted, ListEnd, Nothing, Page, Time } from '../components/ui.tsx';
import { useAll } from '../hooks/requests.ts';
import { hrefOf, useFilters, useMayWrite, type ViewProps } from '../state/route.ts';
import type { Key } from '../state/types.ts';
import { KeyMenu, type KeyTask, keyTasks } from './key-actions.tsx';
import { KeyCreation } from './key-creation.tsx';
import { keyStates, newestFirst, stateOf, titleOf } from './key-labels.ts';
import { KeyPage, Kind, Reach, Requests, State } from './key-page.tsx';

/** All keys, or one of them. */
export function View({ rest: [id], session }: ViewProps) {
  const list = useAll<Key>('/admin/keys');
  const { filters, setFilters } = useFilters();
  const { q = '', kind, state } = filters;
  /** The open dialog: for a new key, or for a task with a key. */
  const [opened, setDialog] = useState<{ task: 'new' } | { task: KeyTask; of: Key }>();
  // The finder leads to the dialog for a new key.
  const dialog = opened ?? (filters.new === undefined ? undefined : { task: 'new' as const });
  const [message, setMessage] = useState('');
  const keys = list.rows;
  const now = Date.now() / 1000;
  const named = keys.filter((key) => contains(q, key.name, key.id)).toSorted(newestFirst);
  const ofKind = (key: Key) => kind === undefined || key.kind === kind;
  const inState = (key: Key) => state === undefined || stateOf(key, now) === state;
  const shown = named.filter((key) => ofKind(key) && inState(key));
  const size = shown.length === keys.length ? keys.length : `${shown.length} of ${counted(keys.length, 'key')}`;
  const close = () => {
    setDialog(undefined);
    setFilters({ new: undefined }, 'replace');
  };
  const changed = (key: Key, words: string) => {
    // The response is 401 if the session has ended with its key.
    list.reload();
    setMessage(`${titleOf(key)} ${words}.`);
  };
  const mayWrite = useMayWrite('createKey');
  const open = (task: KeyTask, of: Key) => setDialog({ task, of });
  const act = (key: Key) => mayWrite && key.revoked_at === null && <KeyMenu of={key} changed={changed} open={open} />;
  const Task = dialog && dialog.task !== 'new' && keyTasks[dialog.task];
  const dialogs = (
    <>
      <p class="hidden-label" role="status">
        {message}
      </p>
      {dialog?.task === 'new' && <KeyCreation close={close} created={list.reload} />}
      {Task && <Task of={dialog.of} keys={keys} close={close} changed={changed} reload={list.reload} />}
    </>
  );
  if (id !== undefined)
    return (
      <>
        <KeyPage id={id} key={id} of={keys.find((key) => key.id === id)} list={list} act={act} />
        {dialogs}
      </>
    );
  /** Chips for the values of a filter, with the number of keys that match each and the other filters. */
  const chips = (label: string, values: readonly string[], keys: readonly Key[], of: (key: Key) => string) => (
    <FilterChips
      label={label}
      name={label.toLowerCase()}
      values={values.map((value) => [value, capital(value)] as const)}
      countOf={list.rows.length === 0 ? undefined : (value) => keys.filter((key) => of(key) === value).length}
    />
  );
  return (
    <Page
      title="Keys"
      meta={<span role="status">{keys.length > 0 && size}</span>}
      actions={
        mayWrite && (
          <Button class="primary" onClick={() => setDialog({ task: 'new' })}>
            New key
          </Button>
        )
      }
    >
      <div class="tools row">
        <FilterSearch label="Search keys by name or ID" />
        {chips('State', keyStates, named.filter(ofKind), (key) => stateOf(key, now))}
        {chips('Kind', keyKinds, named.filter(inState), (key) => key.kind)}
      </div>
      <DataTable label="Keys" columns={columns(now, session.key_id, act)} rows={shown} />
      {shown.length === 0 && list.rows.length > 0 && <Nothing icon="search">No key matches these filters.</Nothing>}
      <ListEnd list={list} icon="keys" nothing="There are no keys yet." />
      {dialogs}
    </Page>
  );
}

function columns(now: number, ownId: string | null, act: (key: Key) => ComponentChildren): Column<Key>[] {
  return [
    {
      title: 'Key',
      cell: (key) => (
        <div class="one-line">
          <a href={hrefOf('keys', key.id)} title={`key ${key.id}`}>
            {titleOf(key)}
          </a>
          {key.id === ownId && [' ', <span class="badge">Your key</span>]}
        </div>
      ),
    },
    { title: 'Kind', cell: (key) => <Kind of={key} /> },
    { title: 'Allows', cell: (key) => <Reach of={key} /> },
    { title: 'State', cell: (key) => <State state={stateOf(key, now)} /> },
    { title: 'Ends', isExtra: true, cell: (key) => <Time at={key.revoked_at ?? key.expires_at} form="day" /> },
    { title: 'Requests, 24 h', unit: 'requests in 24 h', cell: (key) => <Requests of={key} /> },
    { title: 'Last used', cell: (key) => <Time at={key.last_used_at} none={'Never\u00a0used'} form="brief" /> },
    { title: 'Actions', hidesTitle: true, cell: act },
  ];
}
