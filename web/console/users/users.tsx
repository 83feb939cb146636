import { useState } from 'preact/hooks';
import { limits } from '../../../server/src/contract/limits.ts';
import { Button, Icon } from '../../shared/controls.tsx';
import { RecentReads } from '../activity/reads.tsx';
import { download } from '../components/download.tsx';
import { FilterSearch } from '../components/filters.tsx';
import { cost, counted, listed, whole } from '../components/format-number.ts';
import { Menu } from '../components/menu.tsx';
import { type Column, DataTable } from '../components/table.tsx';
import { ErrorNote, Facts, FirstSteps, Linked, ListEnd, Page, Section, Time } from '../components/ui.tsx';
import { type CursorPage, useAttempt, useList, useReading, useResponse } from '../hooks/requests.ts';
import { useSettled } from '../hooks/use-settled.ts';
import { disliked, failed, measuresOf, timesOf, valuesOf } from '../overview/measures.ts';
import { Spark } from '../overview/numbers.tsx';
import { Newest } from '../overview/recent-problems.tsx';
import { badColumn } from '../overview/tables.tsx';
import { pathOf, request } from '../state/api.ts';
import { lastDays } from '../state/period.ts';
import { hrefOf, hrefWith, useFilters, useMayRead, useMayWrite, type ViewProps } from '../state/route.ts';
import type { ConversationSummary, Overview, User } from '../state/types.ts';
import { Erasure } from './erasure.tsx';

/** All users of the apps, or one of them. */
export const View = ({ rest: [user] }: ViewProps) =>
  user === undefined ? <Users /> : <UserPage key={user} user={user} />;

const orderDefault = '-last_at';

function Users() {
  const { filters, setFilters } = useFilters();
  const { app_id, q = '', sort = orderDefault } = filters;
  const list = useList<User>(pathOf(['admin', 'users'], { app_id, q: useSettled(q.trim()), sort, limit: 50 }));
  const isSearch = q !== '' || app_id !== undefined;
  return (
    <Page title="Users" meta={listed(list)}>
      <FilterSearch label="Search users by part of their name" />
      <DataTable
        label="Users"
        columns={columnsOf(list.rows, app_id)}
        rows={list.rows}
        rowKey={({ user }) => user}
        order={sort}
        setOrder={(sort) => setFilters({ sort: sort === orderDefault ? '' : sort }, 'replace')}
      />
      <ListEnd
        list={list}
        readsAhead
        icon="users"
        nothing={isSearch ? 'No user matches.' : <FirstSteps text="No user has a conversation yet." />}
      />
    </Page>
  );
}

const columnsOf = (rows: readonly User[], app_id: string | undefined): Column<User>[] => {
  const costs = rows.map(({ total_price }) => total_price);
  const href =
    (filters = {}) =>
    ({ user }: User) =>
      hrefWith(['conversations'], { app_id, user, ...filters });
  const time = (title: string, order: 'first_at' | 'last_at'): Column<User> => ({
    title,
    order,
    isNumber: true,
    isExtra: order === 'first_at',
    cell: (row) => <Time at={row[order]} form="brief" />,
  });
  return [
    { title: 'User', order: 'user', cell: ({ user }) => user, href: ({ user }) => hrefOf('users', user) },
    { title: 'Conversations', order: 'conversations', count: ({ conversations }) => conversations, href: href() },
    { title: 'Messages', order: 'messages', count: ({ messages }) => messages, href: href() },
    { ...badColumn(rows, 'disliked'), order: 'disliked', href: href(disliked) },
    { ...badColumn(rows, 'failed'), order: 'failed', href: href(failed) },
    {
      title: 'Cost',
      order: 'total_price',
      isNumber: true,
      cell: ({ total_price, currency }) => cost(total_price, currency, costs),
    },
    time('First active', 'first_at'),
    time('Last active', 'last_at'),
  ];
};

/** What a user said in all apps: totals, conversations, a copy of all of it, and its erasure. */
function UserPage({ user }: { user: string }) {
  const canErase = useMayWrite('purge');
  const mayCopy = useMayRead('exportRecords');
  const { body, error, reload } = useReading(user, (signal) => readUser(user, signal));
  const list = useList<ConversationSummary>(pathOf(['admin', 'conversations'], { user, limit: 50 }));
  const [isOpen, setErasing] = useState(false);
  const { filters, setFilters } = useFilters();
  // The finder leads to the dialog.
  const isErasing = isOpen || (canErase && filters.erase !== undefined);
  const close = () => {
    setErasing(false);
    setFilters({ erase: undefined }, 'replace');
  };
  const reloadAll = () => {
    reload();
    list.reload();
  };
  return (
    <Page
      title={user}
      trail={[{ name: 'Users', href: hrefOf('users') }]}
      actions={mayCopy && body && <Actions user={user} canErase={canErase} erase={() => setErasing(true)} />}
    >
      <ErrorNote error={error} retry={reload} />
      {body && <Totals of={body} />}
      <LastDays user={user} />
      {body && body.disliked > 0 && <Newest title="Disliked answers" filters={{ user, ...disliked }} commented={50} />}
      <Section title="Conversations" meta={listed(list)}>
        <DataTable
          label="Conversations"
          columns={conversationColumns(
            user,
            list.rows.map(({ price }) => price),
          )}
          rows={list.rows}
        />
        <ListEnd list={list} readsAhead icon="conversations" nothing="This user has no conversations." />
      </Section>
      <RecentReads title="Read by" query={{ user }} />
      {isErasing && body && <Erasure of={body} close={close} erased={reloadAll} />}
    </Page>
  );
}

/** The list of users searches by a part of the name: this user is among those whose name contains it. */
async function readUser(user: string, signal: AbortSignal): Promise<User | null> {
  const q = user.slice(0, limits.searchUnitsMax);
  for (let cursor: string | null = ''; cursor !== null; ) {
    const path = pathOf(['admin', 'users'], { q, sort: 'user', limit: limits.listRowsMax, cursor });
    const { body }: { body: CursorPage<User> } = await request(path, { signal });
    const found = body.data.find((row) => row.user === user);
    if (found !== undefined) return found;
    cursor = body.next_cursor;
  }
  return null;
}

/** One export is at hand; what is rare or destructive is in the menu. */
function Actions({ user, canErase, erase }: { user: string; canErase: boolean; erase: () => void }) {
  const { error, isBusy, attempt } = useAttempt();
  const save = (path: string, end: string, reads?: '1') => () =>
    attempt(() => download(pathOf(['admin', path], { user, reads }), user + end));
  return (
    <div class="row" role="group" aria-label="All data of this user">
      <Button disabled={isBusy} onClick={save('records', '.ndjson')}>
        <Icon name="download" />
        Export records
      </Button>
      <Menu class="actions-menu" label="More actions" icon="more">
        <Button class="quiet entry" disabled={isBusy} onClick={save('messages.csv', '.csv')}>
          Export CSV
        </Button>
        <Button class="quiet entry" disabled={isBusy} onClick={save('records', '.ndjson', '1')}>
          Export with who read it
        </Button>
        {canErase && (
          <Button class="quiet danger entry" onClick={erase}>
            Erase…
          </Button>
        )}
      </Menu>
      <ErrorNote error={error} />
    </div>
  );
}

function Totals({ of: row }: { of: User }) {
  const number = (n: number, filters: object, look?: string) => (
    <Linked n={n} href={hrefWith(['conversations'], { user: row.user, ...filters })} look={look} />
  );
  return (
    <Facts
      facts={[
        ['Conversations', number(row.conversations, {})],
        ['Messages', number(row.messages, {})],
        ['Disliked', number(row.disliked, { rating: 'dislike' }, 'problem disliked')],
        ['Failed', number(row.failed, { status: 'error' }, 'problem failed')],
        ['Cost', cost(row.total_price, row.currency)],
        ['Apps', whole(row.app_ids.length)],
        ['First active', <Time at={row.first_at} form="day" />],
        ['Last active', <Time at={row.last_at} form="day" />],
      ]}
    />
  );
}

const daysShown = 60;

/** How much the user has written, by day. */
function LastDays({ user }: { user: string }) {
  const { from, to } = lastDays(daysShown);
  const { body } = useResponse<Overview>(pathOf(['admin', 'overview'], { user, from, to }));
  const [messages] = body === undefined ? [] : measuresOf(body);
  if (body === undefined || messages === undefined || body.totals.messages === 0) return null;
  const values = valuesOf(messages, body.points, timesOf(body));
  const words = `${counted(body.totals.messages, 'message')}, at most ${whole(Math.max(...values))} a day`;
  return (
    <Section title={`Last ${daysShown} days`} meta={words}>
      <Spark values={values} />
    </Section>
  );
}

const conversationColumns = (user: string, costs: (number | null)[]): Column<ConversationSummary>[] => [
  {
    title: 'Conversation',
    cell: ({ id, name }) => name || id,
    href: ({ id, app_id }) => hrefWith(['conversations', app_id, id], { user }),
  },
  { title: 'App', cell: ({ app_name }) => app_name },
  { title: 'Messages', count: ({ message_count }) => message_count },
  { title: 'Disliked', count: ({ disliked_count }) => disliked_count, problem: 'disliked' },
  { title: 'Failed', count: ({ failed_count }) => failed_count, problem: 'failed' },
  { title: 'Cost', isNumber: true, cell: ({ price, currency }) => cost(price, currency, costs) },
  { title: 'Last message', isNumber: true, cell: ({ last_message_at: at }) => <Time at={at} form="brief" /> },
];
