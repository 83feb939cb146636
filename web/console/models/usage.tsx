import type { ComponentChildren } from 'preact';
import { Select } from '../../shared/controls.tsx';
import { duration, money, percent, share, whole } from '../components/format-number.ts';
import { type Column, DataTable } from '../components/table.tsx';
import { ErrorNote, Section } from '../components/ui.tsx';
import { type CursorPage, useResponse } from '../hooks/requests.ts';
import { disliked, failed } from '../overview/measures.ts';
import { Newest } from '../overview/recent-problems.tsx';
import { medianOf } from '../overview/series.ts';
import { type Row, rowsOfModels, SumTable } from '../overview/tables.tsx';
import { pathOf } from '../state/api.ts';
import { type Period, periodOf } from '../state/period.ts';
import { type FilterChange, hrefWith, useFilters } from '../state/route.ts';
import { timeText } from '../state/times.ts';
import type { Overview, SearchHit } from '../state/types.ts';

/** What the models have answered in a period, in all workspaces; two of them can be compared. */
export function ModelUsage() {
  const { filters } = useFilters();
  const period = periodOf(filters);
  const path = pathOf(['admin', 'overview'], { from: period.from, to: period.to });
  const { body: overview, error, reload } = useResponse<Overview>(path);
  const rows = overview === undefined ? [] : rowsOfModels(overview);
  const latency = { title: 'Latency, p50', isNumber: true, cell: (row: Row) => <Latency of={row} period={period} /> };
  const days = [timeText(period.from, 'shortDay'), timeText(period.to - 1, 'shortDay')].join(' – ');
  return (
    <>
      <ErrorNote error={error} retry={reload} />
      {rows.length > 0 && (
        <SumTable
          within={{ from: period.from, to: period.to }}
          title="Model"
          rows={rows}
          meta={`${days}, all workspaces`}
          more={rows.length <= latenciesMax ? [latency] : []}
        />
      )}
      {rows.length > 1 && <Comparison rows={rows} period={period} />}
    </>
  );
}

/** Each is a request. */
const latenciesMax = 12;
const answersMax = 100;

/** The median time of the newest complete answers of a model in a period. Without the search it is not known. */
function Latency({ of: { filters }, period: { from, to } }: { of: Row; period: Period }) {
  const query = { ...filters, status: 'normal', from, to, limit: answersMax };
  const { body } = useResponse<CursorPage<SearchHit>>(pathOf(['admin', 'search'], query));
  const times = body?.data.map(({ latency }) => latency).filter((seconds) => seconds > 0) ?? [];
  return <>{times.length === 0 ? '–' : duration(medianOf(times))}</>;
}

type Fact = {
  title: string;
  /** Undefined if the two cannot be compared. */
  value?: (row: Row) => number;
  /** `largest`: the larger one of the two values. */
  text: (value: number, row: Row, largest: number) => ComponentChildren;
  only?: FilterChange;
};

const each = (sum: number, { messages }: Row): number => sum / Math.max(1, messages);
const priceOf = ({ prices }: Row): number => prices[0]?.price ?? 0;
const price = (value: number, { prices }: Row, largest: number): string =>
  prices[0] ? money(value, prices[0].currency, undefined, largest) : '–';
const shareFact = (part: 'disliked' | 'failed', only: FilterChange): Fact => ({
  title: part === 'disliked' ? 'Disliked' : 'Failed',
  value: (row) => each(row[part], row),
  text: (_, row) => `${share(row[part], row.messages)}, ${whole(row[part])}`,
  only,
});

const facts: readonly Fact[] = [
  { title: 'Messages', value: ({ messages }) => messages, text: (count) => whole(count), only: {} },
  shareFact('disliked', disliked),
  shareFact('failed', failed),
  { title: 'Cost', value: priceOf, text: price },
  { title: 'Cost of 1,000 messages', value: (row) => 1000 * each(priceOf(row), row), text: price },
  { title: 'Tokens per message', value: (row) => each(row.tokens, row), text: (count) => whole(count) },
];

/** Two models side by side; the address has both. */
function Comparison({ rows, period }: { rows: readonly Row[]; period: Period }) {
  const { filters, setFilters } = useFilters();
  const chosen = (name: 'one' | 'other', byDefault: number) =>
    rows.find(({ id }) => id === filters[name]) ?? rows[byDefault];
  const [one, other] = [chosen('one', 0), chosen('other', 1)];
  if (one === undefined || other === undefined) return null;
  const choice = (label: string, name: 'one' | 'other', row: Row) => (
    <Select
      label={label}
      class="row"
      value={row.id}
      options={rows.map(({ id, name }) => [id, name])}
      change={(id) => setFilters({ [name]: id })}
    />
  );
  const { from, to } = period;
  const column = (title: string, row: Row): Column<Fact> => ({
    title,
    unit: title,
    cell: ({ value, text: textOf, only }) => {
      const text = textOf(value?.(row) ?? 0, row, value ? Math.max(value(one), value(other)) : 0);
      return only ? <a href={hrefWith(['conversations'], { ...row.filters, ...only, from, to })}>{text}</a> : text;
    },
  });
  const latency: Fact = {
    title: `Latency, p50 of the newest ${answersMax}`,
    text: (_, row) => <Latency of={row} period={period} />,
  };
  // A model may have the name of another provider's.
  const names = one.name === other.name ? [one.id, other.id] : [one.name, other.name];
  const columns: Column<Fact>[] = [
    { title: 'Per model', hidesTitle: true, cell: ({ title }) => title },
    column(names[0] ?? '', one),
    column(names[1] ?? '', other),
    {
      title: 'Difference',
      isNumber: true,
      cell: ({ value }) => value && differenceText(value(one), value(other)),
    },
  ];
  return (
    <Section title="Compare two models">
      <div class="row">
        {choice('Model', 'one', one)}
        {choice('with', 'other', other)}
      </div>
      {one === other ? (
        <p class="soft">Choose two different models.</p>
      ) : (
        <>
          <DataTable label="Comparison" columns={columns} rows={[...facts, latency]} rowKey={({ title }) => title} />
          <div class="pair">
            {[one, other].map((row, n) => (
              <Newest
                key={row.id}
                title={`Newest disliked answers of ${names[n]}`}
                filters={{ ...disliked, ...row.filters, from, to }}
              />
            ))}
          </div>
        </>
      )}
    </Section>
  );
}

/** Values that are calculated differ in their last digits. */
const equalShare = 1e-9;

/** The second value compared with the first. */
export function differenceText(one: number, other: number): string {
  if (one === 0) return '';
  if (Math.abs(other - one) < equalShare * one) return 'equal';
  return `${other > one ? '+' : '−'}${percent(Math.abs(other - one), one)}`;
}
