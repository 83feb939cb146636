import { h } from '../../shared/dom.ts';
import { cost, listed } from '../components/format-number.ts';
import { Page } from '../components/page.ts';
import { FilterSearch } from '../components/search-field.ts';
import { type Column, DataTable } from '../components/table.ts';
import { FirstSteps, ListEnd, Time } from '../components/ui.ts';
import { useList } from '../hooks/use-list.ts';
import { useSettled } from '../hooks/use-settled.ts';
import { pathOf } from '../state/api.ts';
import { hrefOf, hrefWith, useFilters, type ViewProps } from '../state/route.ts';
import type { User } from '../state/types.ts';
import { UserPage } from './user-page.ts';

/** All users of the apps, or one of them. */
export const UsersView = ({ rest: [user] }: ViewProps) =>
  user === undefined ? h(Users, null) : h(UserPage, { key: user, user });

const orderDefault = '-last_at';

function Users() {
  const { filters, setFilters } = useFilters();
  const { app_id, q = '', sort = orderDefault } = filters;
  const list = useList<User>(pathOf(['admin', 'users'], { app_id, q: useSettled(q.trim()), sort, limit: 50 }));
  const isSearch = q !== '' || app_id !== undefined;
  return h(
    Page,
    { title: 'Users', meta: listed(list) },
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
  );
}

const columnsOf = (app_id: string | undefined): Column<User>[] => {
  const number = (
    title: string,
    order: 'conversations' | 'messages' | 'disliked' | 'failed',
    filters = {},
    problem?: 'disliked' | 'failed',
  ): Column<User> => ({
    ...{ title, order, problem },
    count: (row) => row[order],
    href: ({ user }) => hrefWith(['conversations'], { app_id, user, ...filters }),
  });
  const time = (title: string, order: 'first_at' | 'last_at'): Column<User> => ({
    ...{ title, order, isExtra: order === 'first_at' },
    cell: (row) => h(Time, { at: row[order], form: 'brief' }),
  });
  return [
    {
      title: 'User',
      order: 'user',
      cell: ({ user }) => h('a', { class: 'one-line', href: hrefOf('users', user) }, user),
    },
    number('Conversations', 'conversations'),
    number('Messages', 'messages'),
    number('Disliked', 'disliked', { rating: 'dislike' }, 'disliked'),
    number('Failed', 'failed', { status: 'error' }, 'failed'),
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
