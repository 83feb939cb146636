import { h } from '../../shared/dom.ts';
import { money } from '../components/format-number.ts';
import { Page } from '../components/page.ts';
import { FilterSearch } from '../components/search-field.ts';
import { type Column, DataTable } from '../components/table.ts';
import { count, FirstSteps, ListEnd, Time } from '../components/ui.ts';
import { useList } from '../hooks/use-list.ts';
import { useMedia } from '../hooks/use-media.ts';
import { useSettled } from '../hooks/use-settled.ts';
import { pathOf } from '../state/api.ts';
import { hrefOf, hrefWith, useFilters, type ViewProps } from '../state/route.ts';
import { briefForm } from '../state/times.ts';
import type { User } from '../state/types.ts';
import { UserPage } from './user-page.ts';

/** All users of the apps, or one of them. */
export const UsersView = ({ rest: [user] }: ViewProps) =>
  user === undefined ? h(Users, null) : h(UserPage, { key: user, user });

const orderDefault = '-last_at';
const onPhones: readonly (string | undefined)[] = ['user', 'messages', 'disliked', 'last_at'];

function Users() {
  const { filters, setFilters } = useFilters();
  const { app_id, q = '', sort = orderDefault } = filters;
  const list = useList<User>(pathOf(['admin', 'users'], { app_id, q: useSettled(q.trim()), sort, limit: 50 }));
  const isSearch = q !== '' || app_id !== undefined;
  const isPhone = useMedia('(width < 45rem)');
  return h(
    Page,
    { title: 'Users' },
    h(FilterSearch, { label: 'Search users by part of their name' }),
    h(DataTable<User>, {
      label: 'Users',
      columns: columnsOf(app_id).filter(({ order }) => !isPhone || onPhones.includes(order)),
      isCompact: isPhone,
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
  const number = (title: string, order: 'conversations' | 'messages', more = {}): Column<User> => ({
    title,
    order,
    isNumber: true,
    cell: (row) =>
      h('a', { href: hrefWith(['conversations'], { app_id, user: row.user, ...more }) }, count(row[order])),
  });
  const bad = (title: string, order: 'disliked' | 'failed', filters: object): Column<User> => ({
    title,
    order,
    isNumber: true,
    cell: ({ user, [order]: n }) =>
      n === 0 ? '0' : h('a', { href: hrefWith(['conversations'], { app_id, user, ...filters }) }, count(n)),
  });
  return [
    {
      title: 'User',
      order: 'user',
      cell: ({ user }) => h('a', { class: 'one-line', href: hrefOf('users', user) }, user),
    },
    number('Conversations', 'conversations'),
    number('Messages', 'messages'),
    bad('Disliked', 'disliked', { rating: 'dislike' }),
    bad('Failed', 'failed', { status: 'error' }),
    {
      title: 'Cost',
      order: 'total_price',
      isNumber: true,
      cell: ({ total_price, currency }) => (total_price === null ? '–' : money(total_price, currency ?? '')),
    },
    { title: 'First', order: 'first_at', cell: ({ first_at: at }) => h(Time, { at, form: briefForm(at) }) },
    { title: 'Last active', order: 'last_at', cell: ({ last_at: at }) => h(Time, { at, form: briefForm(at) }) },
  ];
};
