import { limits } from '../../../server/src/contract/limits.ts';
import { Icon } from '../../shared/controls.ts';
import { button, el, h, useState } from '../../shared/dom.ts';
import { download } from '../components/download.ts';
import { FilterSearch } from '../components/filters.ts';
import { capital, cost, listed, whole } from '../components/format-number.ts';
import { Menu } from '../components/menu.ts';
import { type Column, DataTable } from '../components/table.ts';
import { ErrorNote, Facts, FirstSteps, ListEnd, Page, Section, Time } from '../components/ui.ts';
import { type CursorPage, useAttempt, useList, useReading } from '../hooks/requests.ts';
import { useSettled } from '../hooks/use-settled.ts';
import { pathOf, request } from '../state/api.ts';
import { hrefOf, hrefWith, useFilters, useMayWrite, type ViewProps } from '../state/route.ts';
import type { ConversationSummary, User } from '../state/types.ts';
import { Erasure } from './erasure.ts';

/** All users of the apps, or one of them. */
export const View = ({ rest: [user] }: ViewProps) =>
  user === undefined ? h(Users, null) : h(UserPage, { key: user, user });

const orderDefault = '-last_at';

function Users() {
  const { filters, setFilters } = useFilters();
  const { app_id, q = '', sort = orderDefault } = filters;
  const list = useList<User>(pathOf(['admin', 'users'], { app_id, q: useSettled(q.trim()), sort, limit: 50 }));
  const isSearch = q !== '' || app_id !== undefined;
  return h(Page, { title: 'Users', meta: listed(list) }, [
    h(FilterSearch, { label: 'Search users by part of their name' }),
    h(DataTable<User>, {
      label: 'Users',
      columns: columnsOf(app_id),
      rows: list.rows,
      rowKey: ({ user }) => user,
      order: sort,
      setOrder: (sort) => setFilters({ sort: sort === orderDefault ? '' : sort }, 'replace'),
    }),
    h(ListEnd, {
      list,
      icon: 'users',
      nothing: isSearch ? 'No user matches.' : h(FirstSteps, { text: 'No user has a conversation yet.' }),
    }),
  ]);
}

const columnsOf = (app_id: string | undefined): Column<User>[] => {
  const number = (order: 'conversations' | 'messages' | 'disliked' | 'failed', filters = {}): Column<User> => ({
    ...{ title: capital(order), order, problem: order === 'disliked' || order === 'failed' ? order : undefined },
    count: (row) => row[order],
    href: ({ user }) => hrefWith(['conversations'], { app_id, user, ...filters }),
  });
  const time = (title: string, order: 'first_at' | 'last_at'): Column<User> => ({
    ...{ title, order, isNumber: true, isExtra: order === 'first_at' },
    cell: (row) => h(Time, { at: row[order], form: 'brief' }),
  });
  return [
    {
      title: 'User',
      order: 'user',
      cell: ({ user }) => h('a', { class: 'one-line', href: hrefOf('users', user) }, user),
    },
    number('conversations'),
    number('messages'),
    number('disliked', { rating: 'dislike' }),
    number('failed', { status: 'error' }),
    {
      title: 'Cost',
      order: 'total_price',
      isNumber: true,
      cell: ({ total_price, currency }) => cost(total_price, currency),
    },
    time('First active', 'first_at'),
    time('Last active', 'last_at'),
  ];
};

/** What a user said in all apps: totals, conversations, a copy of all of it, and its erasure. */
function UserPage({ user }: { user: string }) {
  const canErase = useMayWrite();
  const { body, error, reload } = useReading(user, (signal) => readUser(user, signal));
  const list = useList<ConversationSummary>(pathOf(['admin', 'conversations'], { user, limit: 50 }));
  const [isErasing, setErasing] = useState(false);
  const reloadAll = () => {
    reload();
    list.reload();
  };
  return h(
    Page,
    {
      title: user,
      trail: [{ name: 'Users', href: hrefOf('users') }],
      actions: body && h(Actions, { user, canErase, erase: () => setErasing(true) }),
    },
    h(ErrorNote, { error, retry: reload }),
    body && h(Totals, { of: body }),
    h(Section, { title: 'Conversations', meta: listed(list) }, [
      h(DataTable<ConversationSummary>, {
        label: 'Conversations',
        columns: conversationColumns(user),
        rows: list.rows,
        rowKey: ({ id }) => id,
      }),
      h(ListEnd, { list, icon: 'conversations', nothing: 'This user has no conversations.' }),
    ]),
    isErasing && body && h(Erasure, { of: body, close: () => setErasing(false), erased: reloadAll }),
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
  const save = (path: string, end: string) => () =>
    attempt(() => download(pathOf(['admin', path], { user }), user + end));
  return h('div', { class: 'row', role: 'group', 'aria-label': 'All data of this user' }, [
    button({ disabled: isBusy, onClick: save('records', '.ndjson') }, h(Icon, { name: 'download' }), 'Export records'),
    h(Menu, { class: 'actions-menu', label: 'More actions', icon: 'more' }, [
      button({ class: 'quiet entry', disabled: isBusy, onClick: save('messages.csv', '.csv') }, 'Export CSV'),
      canErase && button({ class: 'quiet danger entry', onClick: erase }, 'Erase…'),
    ]),
    h(ErrorNote, { error }),
  ]);
}

function Totals({ of: row }: { of: User }) {
  const number = (n: number, filters: object, look = '') =>
    n === 0
      ? el('span.soft', '0')
      : h('a', { class: look, href: hrefWith(['conversations'], { user: row.user, ...filters }) }, whole(n));
  return h(Facts, {
    facts: [
      ['Conversations', number(row.conversations, {})],
      ['Messages', number(row.messages, {})],
      ['Disliked', number(row.disliked, { rating: 'dislike' }, 'problem disliked')],
      ['Failed', number(row.failed, { status: 'error' }, 'problem failed')],
      ['Cost', cost(row.total_price, row.currency)],
      ['Apps', whole(row.app_ids.length)],
      ['First active', h(Time, { at: row.first_at, form: 'day' })],
      ['Last active', h(Time, { at: row.last_at, form: 'day' })],
    ],
  });
}

const conversationColumns = (user: string): Column<ConversationSummary>[] => [
  {
    title: 'Conversation',
    cell: ({ id, app_id, name }) =>
      h('a', { class: 'one-line', href: hrefWith(['conversations', app_id, id], { user }) }, name || id),
  },
  { title: 'App', cell: ({ app_name }) => app_name },
  { title: 'Messages', count: ({ message_count }) => message_count },
  { title: 'Disliked', count: ({ disliked_count }) => disliked_count, problem: 'disliked' },
  { title: 'Failed', count: ({ failed_count }) => failed_count, problem: 'failed' },
  { title: 'Cost', isNumber: true, cell: ({ price, currency }) => cost(price, currency) },
  { title: 'Last message', isNumber: true, cell: ({ last_message_at: at }) => h(Time, { at, form: 'brief' }) },
];
