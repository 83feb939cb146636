import { type ComponentChildren, el, h, useEffect, useMemo } from '../../shared/dom.ts';
import { Select } from '../../shared/select.ts';
import { FilterChips } from '../components/chips.ts';
import { Page } from '../components/page.ts';
import { FilterSearch } from '../components/search-field.ts';
import { type Column, DataTable } from '../components/table.ts';
import { counted, ListEnd, count as numberText, Time } from '../components/ui.ts';
import { useAll } from '../hooks/use-all.ts';
import { type List, useList } from '../hooks/use-list.ts';
import { pathOf } from '../state/api.ts';
import { type FilterAccess, type Filters, hrefOf, useFilters } from '../state/route.ts';
import type { Activity, Key } from '../state/types.ts';
import { actions, countedKind, hrefOfRecord, kinds } from './activity-labels.ts';

const rowsAtOnce = 50;
/** A filter without an index may need several requests until it finds this many rows. */
const rowsWanted = 20;

/** The audit log as a table: who changed what, and when. */
export function ActivityView() {
  const access = useFilters();
  const list = useActivity(access.filters, rowsAtOnce);
  useEffect(() => {
    if (list.hasMore && !list.isLoading && list.error === undefined && list.rows.length < rowsWanted) list.more();
  }, [list]);
  const isSearching = list.hasMore && list.rows.length < rowsWanted && list.error === undefined;
  return h(
    Page,
    { title: 'Activity' },
    h(FilterBar, access),
    h(ActivityTable, { rows: list.rows }),
    isSearching
      ? h('p', { class: 'soft', role: 'status' }, 'Searching…')
      : h(ListEnd, { list, nothing: 'Nothing was changed, as far as these filters and the audit log reach.' }),
  );
}

const daySeconds = 86_400;
const dayText = (seconds: number): string => new Date(seconds * 1000).toISOString().slice(0, 10);

/** The audit log with the filters of an address. `days` counts back from now; `day` is one day in UTC. */
export function useActivity({ days, day, ...filters }: Filters, limit: number): List<Activity> {
  const { key_id, action, record, record_id, dataset_id, document_id } = filters;
  const [from, to] = useMemo(() => {
    const start = Date.parse(`${day}T00:00:00Z`) / 1000;
    if (day !== undefined && !Number.isNaN(start)) return [start, start + daySeconds];
    return [days && Math.floor(Date.now() / 1000) - Number(days) * daySeconds, undefined];
  }, [days, day]);
  // They are most of the log, and rarely what a reader looks for.
  const isAsked = [action, record, record_id, dataset_id, filters.appends].some((value) => value !== undefined);
  const appends = isAsked ? undefined : 'hidden';
  const query = { key_id, action, record, record_id, dataset_id, document_id, appends, from, to, limit };
  return useList<Activity>(pathOf(['admin', 'activity'], query));
}

const periods: readonly [days: string, label: string][] = [
  ['7', 'Last 7 days'],
  ['30', 'Last 30 days'],
];

function FilterBar({ filters, setFilters }: FilterAccess) {
  const now = Date.now() / 1000;
  const lastDays = ['Today', 'Yesterday'].map((label, ago) => [dayText(now - ago * daySeconds), label] as const);
  const { rows: keys } = useAll<Key>('/admin/keys');
  const names = keys.map(({ id, name, kind }): [string, string] => [id, name || `${kind} key ${id.slice(0, 8)}`]);
  const select = (name: string, label: string, none: string, options: readonly [string, string][]) => {
    const value = filters[name] ?? '';
    const isListed = options.some(([one]) => one === value);
    const unlisted: [string, string][] = isListed || value === '' ? [] : [[value, value]];
    const change = (value: string) => setFilters({ [name]: value });
    return h(Select, { class: 'row', label, value, options: [['', none], ...unlisted, ...options], change });
  };
  return el(
    'div.stack',
    el(
      'div.row',
      h(FilterSearch, { label: 'ID of a record, or a part of it', name: 'record_id' }),
      select('key_id', 'By', 'anyone', names),
      select('record', 'Records', 'all kinds', Object.entries(kinds)),
    ),
    el(
      'div.row',
      h(FilterChips, { label: 'Action', name: 'action', values: Object.entries(actions) }),
      h(FilterChips, { label: 'More', name: 'appends', values: [['shown', 'With stored messages']] }),
    ),
    el(
      'div.row',
      h(FilterChips, { label: 'Day', name: 'day', values: lastDays }),
      h(FilterChips, { label: 'Period', name: 'days', values: periods }),
      h('input', {
        type: 'date',
        'aria-label': 'Day',
        value: filters.day ?? '',
        onChange: (event: Event) => setFilters({ day: (event.target as HTMLInputElement).value, days: '' }),
      }),
    ),
  );
}

export function ActivityTable({ rows }: { rows: readonly Activity[] }) {
  const columns: Column<Run>[] = [
    {
      title: 'Time',
      cell: ({ at, since }) => [
        since !== at && [h(Time, { at: since }), '–'],
        h(Time, { at, form: since === at ? 'time' : 'clock' }),
      ],
    },
    {
      title: 'By',
      cell: (entry) => [h(By, { entry }), entry.tool && el('span.soft', ` with ${entry.tool}`)],
    },
    { title: 'Action', cell: ({ action }) => h('span', { class: classOf(action) }, actions[action]) },
    { title: 'Records', cell: countedKind },
    { title: 'Names', cell: (entry) => entry.records.length > 0 && h(Names, { entry }) },
  ];
  return h(DataTable<Run>, { label: 'Activity', columns, rows: runsOf(rows), rowKey: ({ id }) => id });
}

/** An entry, or several appends of one key in an hour. `since` is the time of the first one. */
type Run = Activity & { since: number };

function runsOf(rows: readonly Activity[]): Run[] {
  const byRun = Map.groupBy(rows, ({ id, at, key_id, action, record }) => {
    const isAppend = action === 'import' && (record === 'message' || record === 'conversation');
    return isAppend ? `${Math.floor(at / 3_600)} ${key_id} ${record}` : id;
  });
  return [...byRun.values()].map((run) => ({
    ...(run[0] as Activity),
    since: run.at(-1)?.at ?? 0,
    count: run.reduce((sum, { count }) => sum + count, 0),
  }));
}

const classOf = (action: Activity['action']): string =>
  ['delete', 'revoke', 'purge', 'retain'].includes(action) ? 'badge warn' : 'badge';

type ByProps = { entry: Pick<Activity, 'key_id' | 'key_name'>; isText?: boolean; none?: string };

/** The key, as a link to it, except in a `summary`, which is a control itself. */
export function By({ entry: { key_id, key_name }, isText, none = 'command line' }: ByProps) {
  if (key_id === null) return none;
  const name = key_name || `key ${key_id.slice(0, 8)}`;
  const href = hrefOf('keys', key_id);
  return h(isText ? 'span' : 'a', { href: isText ? undefined : href, title: `key ${key_id}` }, name);
}

/** The name of the first record; the others are folded. */
function Names({ entry: { record, records, count } }: { entry: Activity }) {
  const name = ({ id, name, path }: Activity['records'][number]): ComponentChildren => {
    const href = hrefOfRecord(record, path);
    const text = name || el('span.mono.soft', id);
    return h(
      'p',
      { key: id, class: 'one-line', title: name || id },
      href === undefined ? text : h('a', { href }, text),
    );
  };
  const [first, ...folded] = records.map(name);
  const rest = count - records.length;
  return el(
    'div.names',
    first,
    folded.length > 0 &&
      el(
        'details',
        el('summary', `${numberText(count - 1)} more`),
        folded,
        rest > 0 && el('p.soft', `and ${counted(rest, 'other')}`),
      ),
  );
}
