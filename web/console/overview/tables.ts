import { type ComponentChildren, h } from '../../shared/dom.ts';
import { money, whole } from '../parts/figures.ts';
import { type FilterChange, hrefWith } from '../parts/route.ts';
import { type Column, DataTable } from '../parts/table.ts';
import type { Overview, OverviewApp, OverviewUser } from '../parts/types.ts';
import { disliked, failed } from './measures.ts';

/** Messages, ratings and cost by app and by user. Each number leads to the list of what it counts. */
export function Tables({ overview: { apps, users, from, to } }: { overview: Overview }) {
  const link = (filters: FilterChange, text: ComponentChildren) =>
    h('a', { href: hrefWith(['conversations'], { ...filters, from, to }) }, text);
  const columns = <T extends OverviewApp | OverviewUser>(filters: (row: T) => FilterChange): Column<T>[] => {
    const number = (title: string, value: (row: T) => number, only: FilterChange = {}): Column<T> => ({
      title,
      cell: (row) => (value(row) === 0 ? '0' : link({ ...filters(row), ...only }, whole(value(row)))),
      isNumber: true,
    });
    return [
      number('Messages', ({ messages }) => messages),
      number('Disliked', (row) => row.disliked, disliked),
      number('Failed', (row) => row.failed, failed),
      { title: 'Tokens', cell: ({ tokens }) => whole(tokens), isNumber: true },
    ];
  };
  const appFilters = ({ app_id }: OverviewApp): FilterChange => ({ app_id });
  const userFilters = ({ user }: OverviewUser): FilterChange => ({ user });
  const cost = ({ price, currency }: OverviewUser) => (currency === null ? '' : money(price ?? 0, currency));
  const section = <T>(label: string, rows: readonly T[], keyOf: (row: T) => string, columns: Column<T>[]) =>
    h('section', { class: 'stack' }, h('h2', null, label), h(DataTable<T>, { label, rows, keyOf, columns }));
  return h(
    'div',
    { class: 'pair' },
    section('By app', apps, ({ app_id }) => app_id, [
      { title: 'App', cell: (row) => link(appFilters(row), row.app_name) },
      ...columns(appFilters),
      { title: 'Cost', cell: ({ prices }) => costText(prices), isNumber: true },
    ]),
    section('By user', users, ({ user }) => user, [
      { title: 'User', cell: (row) => link(userFilters(row), row.user) },
      ...columns(userFilters),
      { title: 'Cost', cell: cost, isNumber: true },
    ]),
  );
}

const costText = (prices: OverviewApp['prices']): string =>
  prices
    .slice(0, 3)
    .map(({ currency, price }) => money(price, currency))
    .join(', ');
