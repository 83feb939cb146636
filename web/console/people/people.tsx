import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { RecentReads } from '../activity/reads.tsx';
import { FilterSearch } from '../components/filters.tsx';
import { contains } from '../components/marked-text.tsx';
import { ActionsMenu } from '../components/menu.tsx';
import { type Column, DataTable } from '../components/table.tsx';
import { capital, counted, ErrorNote, ListEnd, Nothing, Page, Time } from '../components/ui.tsx';
import { useAll, useAttempt } from '../hooks/requests.ts';
import { pathOf, request } from '../state/api.ts';
import { hrefOf, useFilters, useMayWrite, type ViewProps } from '../state/route.ts';
import type { Person } from '../state/types.ts';

const nameOf = ({ name, subject }: Person): string => name || subject;

/** Who signed in by name, with role and sessions; or one person, with what they have read. */
export function View({ rest: [id], session }: ViewProps) {
  const list = useAll<Person>('/admin/people');
  const { q = '' } = useFilters().filters;
  const [message, setMessage] = useState('');
  const mayWrite = useMayWrite('updatePerson');
  const people = list.rows;
  const shown = people.filter(({ name, email, id }) => contains(q, name, email ?? '', id));
  const change = (person: Person, words: string) => {
    list.reload();
    setMessage(`${nameOf(person)} ${words}.`);
  };
  const act = (person: Person) =>
    mayWrite && <Actions of={person} isOwn={person.id === session.person_id} changed={change} />;
  const person = id === undefined ? undefined : people.find((one) => one.id === id);
  const announced = (
    <p class="hidden-label" role="status">
      {message}
    </p>
  );
  if (id !== undefined)
    return (
      <Page title={person ? nameOf(person) : id} trail={[{ name: 'People', href: hrefOf('people') }]}>
        {announced}
        <ErrorNote error={list.error} retry={list.reload} />
        {person && <DataTable label="Person" columns={columns(act)} rows={[person]} />}
        {person && <p class="soft small">{`${person.issuer}, subject ${person.subject}`}</p>}
        <RecentReads title="Has read" query={{ person_id: id }} />
      </Page>
    );
  return (
    <Page title="People" meta={people.length > 0 && counted(people.length, 'account')}>
      {announced}
      <div class="tools row">
        <FilterSearch label="Search people by name or email" />
      </div>
      <DataTable label="People" columns={columns(act)} rows={shown} />
      {shown.length === 0 && list.rows.length > 0 && <Nothing icon="search">No one matches.</Nothing>}
      <ListEnd
        list={list}
        icon="users"
        nothing="No one has signed in by name yet. The guide “People” says how to set it up."
      />
    </Page>
  );
}

const columns = (act: (person: Person) => ComponentChildren): Column<Person>[] => [
  {
    title: 'Name',
    cell: (person) => (
      <div class="one-line">
        <a href={hrefOf('people', person.id)}>{nameOf(person)}</a> <span class="soft">{person.email}</span>
      </div>
    ),
  },
  {
    title: 'Role',
    cell: ({ role, role_source }) => (
      <span title={role_source === null ? 'by default' : `because of ${role_source}`}>
        {capital(role)} <span class="soft">{role_source}</span>
      </span>
    ),
  },
  { title: 'Sessions', isNumber: true, cell: ({ sessions }) => sessions },
  { title: 'Last seen', cell: ({ last_seen_at }) => <Time at={last_seen_at} none="Never" form="brief" /> },
  { title: 'State', cell: ({ blocked }) => (blocked ? <span class="badge">Blocked</span> : 'Active') },
  { title: 'Actions', hidesTitle: true, cell: act },
];

type ActionsProps = { of: Person; isOwn: boolean; changed: (person: Person, words: string) => void };

/** Without confirmation, because all of it can be undone. */
function Actions({ of: person, isOwn, changed }: ActionsProps) {
  const { error, isBusy, attempt } = useAttempt();
  const path = pathOf(['admin', 'people', person.id]);
  const send = (words: string, path: string, options: { method: string; body?: object }) => () =>
    attempt(async () => changed((await request<Person>(path, options)).body, words));
  const block = (blocked: boolean) =>
    send(blocked ? 'is blocked' : 'may sign in again', path, { method: 'PATCH', body: { blocked } });
  return (
    <ActionsMenu
      of={nameOf(person)}
      isBusy={isBusy}
      error={error}
      entries={[
        ['Sign out', send('is signed out', `${path}/sessions`, { method: 'DELETE' })],
        !isOwn && [person.blocked ? 'Allow' : 'Block', block(!person.blocked)],
      ]}
    />
  );
}
