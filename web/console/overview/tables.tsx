import { useState } from 'preact/hooks';
import { Button } from '../../shared/controls.tsx';
import { money, whole } from '../components/format-number.ts';
import { type Column, DataTable } from '../components/table.tsx';
import { type FilterChange, hrefWith } from '../state/route.ts';
import type { Overview, OverviewApp, OverviewModel, OverviewUser } from '../state/types.ts';
import { disliked, failed } from './measures.ts';

type Row = Omit<OverviewApp, 'app_id' | 'app_name' | 'before'> & { id: string; name: string; filters: FilterChange };
const usersShown = 8;

type Props = { overview: Overview; app_id: string | undefined };

/** Messages, ratings and cost by app, by model, and by user with the most bad answers first. Each number leads to its messages. */
export function Tables({ overview: { apps, models, users, from, to }, app_id }: Props) {
  const [showsAll, setShowsAll] = useState(false);
  const hrefIn = (filters: FilterChange) => hrefWith(['conversations'], { app_id, ...filters, from, to });
  const number = (title: string, value: (row: Row) => number, only?: FilterChange): Column<Row> => ({
    title,
    count: value,
    value,
    problem: only && (only === failed ? 'failed' : 'disliked'),
    href: (row) => hrefIn({ ...row.filters, ...only }),
  });
  const table = (title: string, rows: readonly Row[]) => {
    const label = `By ${title.toLowerCase()}`;
    const columns: Column<Row>[] = [
      { title, cell: ({ filters, name }) => <a href={hrefIn(filters)}>{name}</a> },
      number('Messages', ({ messages }) => messages),
      number('Disliked', (row) => row.disliked, disliked),
      number('Failed', (row) => row.failed, failed),
      { title: 'Tokens', cell: ({ tokens }) => whole(tokens), value: ({ tokens }) => tokens, isNumber: true },
      { title: 'Cost', cell: ({ prices }) => costText(prices), isNumber: true },
    ];
    return (
      <>
        <h2>{label}</h2>
        <DataTable<Row> label={label} rows={rows} rowKey={({ id }) => id} columns={columns} />
      </>
    );
  };
  const byApp = apps.map(({ app_id, app_name: name, ...sums }) => ({ ...sums, id: app_id, name, filters: { app_id } }));
  const byUser = users.map(rowOfUser).toSorted((one, other) => badOf(other) - badOf(one));
  return (
    <div class="pair">
      <section class="stack">
        {table('App', byApp)}
        {models.some(isKnown) && table('Model', models.filter(isKnown).map(rowOfModel))}
      </section>
      <section class="stack">
        {table('User', showsAll ? byUser : byUser.slice(0, usersShown))}
        {users.length > usersShown && !showsAll && (
          <Button onClick={() => setShowsAll(true)}>Show the {users.length} users with the most messages</Button>
        )}
      </section>
    </div>
  );
}

const isKnown = ({ model }: OverviewModel): boolean => model !== null;
const rowOfModel = ({ model_provider, model, ...sums }: OverviewModel): Row => ({
  ...sums,
  id: `${model_provider} ${model}`,
  name: model ?? 'not known',
  filters: { model_provider: model_provider ?? '', model: model ?? '' },
});
const rowOfUser = ({ user, price, currency, ...sums }: OverviewUser): Row => ({
  ...sums,
  id: user,
  name: user,
  filters: { user },
  prices: currency === null ? [] : [{ currency, price: price ?? 0 }],
});
const badOf = ({ disliked, failed }: Row): number => disliked + failed;
const costText = (prices: Row['prices']): string =>
  prices
    .slice(0, 3)
    .map(({ currency, price }) => money(price, currency))
    .join(', ');
