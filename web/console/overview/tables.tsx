import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { Button } from '../../shared/controls.tsx';
import { brief, capital, money, share } from '../components/format-number.ts';
import { type Column, DataTable } from '../components/table.tsx';
import { Section } from '../components/ui.tsx';
import { type FilterChange, hrefWith } from '../state/route.ts';
import type { Overview, OverviewApp, OverviewUser } from '../state/types.ts';
import { disliked, failed } from './measures.ts';
import { isOutlier } from './series.ts';

type Sums = Omit<OverviewApp, 'app_id' | 'app_name' | 'before'> & { before?: OverviewApp['before'] };
export type Row = Sums & { id: string; name: string; filters: FilterChange };
type Prices = Row['prices'];
const usersShown = 8;

/** Messages, ratings and cost by app, by model, and by user with the most disliked answers first. */
export function Tables({ overview, app_id }: { overview: Overview; app_id: string | undefined }) {
  const { apps, users, from, to } = overview;
  const [showsAll, setShowsAll] = useState(false);
  const within = { app_id, from, to };
  const [byUser, most] = [users.map(rowOfUser), showsAll ? undefined : usersShown];
  const byModel = rowsOfModels(overview);
  const comparison = <a href={hrefWith(['models'], { from, to })}>Compare</a>;
  const byApp = apps.map(({ app_id, app_name: name, ...sums }) => ({ ...sums, id: app_id, name, filters: { app_id } }));
  return (
    <div class="pair">
      <div class="stack">
        <SumTable within={within} title="App" rows={byApp} />
        {byModel.length > 0 && (
          <SumTable within={within} title="Model" rows={byModel} meta={byModel.length > 1 && comparison} />
        )}
      </div>
      <div class="stack">
        <SumTable within={within} title="User" rows={byUser} firstOrder="-Disliked" shown={most} />
        {users.length > usersShown && !showsAll && (
          <Button onClick={() => setShowsAll(true)}>Show the {users.length} users with the most messages</Button>
        )}
      </div>
    </div>
  );
}

type TableProps = {
  title: string;
  rows: readonly Row[];
  /** The app and the period, for the links to the messages that a number counts. */
  within: FilterChange;
  meta?: ComponentChildren;
  firstOrder?: string;
  shown?: number | undefined;
  /** Other columns. */
  more?: readonly Column<Row>[];
};

/** Each number leads to its messages. */
export function SumTable({ within, title, rows, meta, firstOrder = '-Messages', shown, more = [] }: TableProps) {
  const label = `By ${title.toLowerCase()}`;
  const hrefIn = (filters: FilterChange) => hrefWith(['conversations'], { ...within, ...filters });
  const bad = (part: 'disliked' | 'failed', only: FilterChange): Column<Row> => ({
    ...badColumn(rows, part),
    value: (row) => row[part],
    href: (row) => hrefIn({ ...row.filters, ...only }),
  });
  const columns: Column<Row>[] = [
    { title, cell: ({ filters, name }) => <a href={hrefIn(filters)}>{name}</a>, value: ({ name }) => name },
    { title: 'Messages', count: messagesOf, value: messagesOf, href: ({ filters }) => hrefIn(filters) },
    bad('disliked', disliked),
    bad('failed', failed),
    { title: 'Tokens', unit: 'tokens', cell: (row) => brief(row.tokens), value: (row) => row.tokens },
    costColumn(rows),
    ...more,
  ];
  return (
    <Section title={label} meta={meta}>
      <DataTable label={label} rows={rows} columns={columns} firstOrder={firstOrder} shown={shown} />
    </Section>
  );
}

const messagesOf = ({ messages }: { messages: number }): number => messages;

type Rated = Record<'messages' | 'disliked' | 'failed', number>;
/** Bad answers with their share of all; only a share above twice the median has a colour. */
export function badColumn<R extends Rated>(rows: readonly R[], part: 'disliked' | 'failed'): Column<R> {
  const shareOf = (row: R) => row[part] / Math.max(1, row.messages);
  const shares = rows.map(shareOf);
  return {
    title: capital(part),
    count: (row) => row[part],
    problem: part,
    isOutlier: (row) => isOutlier(shareOf(row), shares),
    share: (row) => share(row[part], row.messages),
  };
}

/** All in the decimals of the largest price, or each in its own. */
export const pricesText = (prices: Prices, largest?: number): string =>
  prices.map(({ currency, price }) => money(price, currency, undefined, largest)).join(', ');

/** With several currencies, sorted by the first one. All prices of the column have the decimals of the largest. */
function costColumn(rows: readonly Row[]): Column<Row> {
  const priceOf = (prices: Prices) => prices[0]?.price ?? 0;
  const largest = Math.max(0, ...rows.flatMap(({ prices }) => prices.map(({ price }) => price)));
  const text = (prices: Prices) => pricesText(prices.slice(0, 3), largest);
  const hasBefore = rows.some(({ before }) => priceOf(before?.prices ?? []) > 0);
  return {
    title: hasBefore ? 'Cost, before → now' : 'Cost',
    cell: ({ prices, before }) => [
      before && before.prices.length > 0 && <span class="soft">{text(before.prices)} → </span>,
      text(prices),
    ],
    value: ({ prices }) => priceOf(prices),
    isNumber: true,
  };
}

/** The models that are known. */
export const rowsOfModels = ({ models }: Overview): Row[] =>
  models.flatMap(({ model_provider: provider, model, ...sums }) => {
    if (model === null) return [];
    return { ...sums, id: `${provider} ${model}`, name: model, filters: { model_provider: provider ?? '', model } };
  });
const rowOfUser = ({ user, price, currency, ...sums }: OverviewUser): Row => ({
  ...sums,
  id: user,
  name: user,
  filters: { user },
  prices: currency === null ? [] : [{ currency, price: price ?? 0 }],
});
