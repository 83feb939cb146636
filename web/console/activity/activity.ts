import { type ComponentChildren, el, h, useEffect, useMemo } from '../../shared/dom.ts';
import { Select } from '../../shared/select.ts';
import { FilterChips } from '../components/chips.ts';
import { DayField } from '../components/day-field.ts';
import { Page } from '../components/page.ts';
import { FilterSearch } from '../components/search-field.ts';
import { type Column, DataTable } from '../components/table.ts';
import { counted, ListEnd, count as numberText, Time } from '../components/ui.ts';
import { useAll } from '../hooks/use-all.ts';
import { type List, useList } from '../hooks/use-list.ts';
import { pathOf } from '../state/api.ts';
import { type FilterAccess, type Filters, hrefOf, useFilters } from '../state/route.ts';
import { daySeconds, daySecondsOf, timeText } from '../state/times.ts';
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
      : h(ListEnd, { list, nothing: 'The audit log has no changes with these filters.' }),
  );
}

/** The audit log with the filters of an address. `days` counts back from now; `day` is one day in UTC. */
export function useActivity({ days, day, ...filters }: Filters, limit: number): List<Activity> {
  const { key_id, action, record, record_id, dataset_id, document_id } = filters;
  const [from, to] = useMemo(() => {
    const start = day === undefined ? undefined : daySecondsOf(day);
    if (start !== undefined) return [start, start + daySeconds];
    return [days && Math.floor(Date.now() / 1000) - Number(days) * daySeconds, undefined];
  }, [days, day]);
  // They are most of the log, and rarely what a reader looks for.
  const isAsked = [action, record, record_id, dataset_id, filters.appends].some((value) => value !== undefined);
  const appends = isAsked ? undefined : 'hidden';
  const query = { key_id, action, record, record_id, dataset_id, document_id, appends, from, to, limit };
  return useList<Activity>(pathOf(['admin', 'activity'], query));
}

function FilterBar({ filters, setFilters }: FilterAccess) {
  const { rows: keys } = useAll<Key>('/admin/keys');
  const names = keys.map(({ id, name, kind }): [string, string] => [id, name || `${kind} key ${id.slice(0, 8)}`]);
  const select = (name: string, label: string, none: string, options: Options) => {
    const value = filters[name] ?? '';
    const isListed = value === '' || options.some(([one]) => one === value);
    const all = [['', none] as const, ...options, ...(isListed ? [] : [[value, value] as const])];
    const change = (value: string) => setFilters({ [name]: value, ...(name === 'days' && { day: '' }) });
    return h(Select, { label: el('span.hidden-label', label), value, options: all, change });
  };
  return el(
    'div.tools.row.activity-tools',
    h(FilterSearch, { label: 'ID of a record', name: 'record_id' }),
    select('key_id', 'By', 'By anyone', names),
    select('action', 'Action', 'All actions', Object.entries(actions)),
    select('record', 'Records', 'All records', Object.entries(kinds)),
    select('days', 'When', filters.day ? 'One day' : 'Any time', periods),
    h(DayField, { label: 'Day', value: filters.day ?? '', change: (day) => setFilters({ day, days: '' }) }),
    h(FilterChips, { label: 'More', name: 'appends', values: [['shown', 'With stored messages']] }),
  );
}

/** Days up to now. */
const periods: Options = [
  ['1', 'Last 24 hours'],
  ['7', 'Last 7 days'],
  ['30', 'Last 30 days'],
];
type Options = readonly (readonly [value: string, text: string])[];

export function ActivityTable({ rows }: { rows: readonly Activity[] }) {
  const runs = runsOf(rows);
  const columns: Column<Run>[] = [
    {
      title: 'Time',
      cell: ({ at, since }) => [
        since !== at && [h(Time, { at: since, form: 'clock' }), '–'],
        h(Time, { at, form: 'clock' }),
      ],
    },
    {
      title: 'By',
      cell: (entry) => [h(By, { entry }), entry.tool && el('span.soft', ` with ${entry.tool}`)],
    },
    { title: 'Action', cell: ({ action }) => h('span', { class: classOf(action) }, actions[action]) },
    {
      title: 'Records',
      cell: ({ parts, count }) => (parts.length > 1 ? counted(count, 'record') : countedKind(parts[0])),
    },
    {
      title: 'Names',
      cell: ({ parts }) =>
        parts.length > 1 ? h(Parts, { parts, isOpen: runs.length === 1 }) : h(Names, { entry: parts[0] }),
    },
  ];
  const days = [...Map.groupBy(runs, ({ at }) => timeText(at, 'longDay'))];
  return el(
    'div.stack.days',
    days.map(([day, rows]) => [
      el('strong', day),
      h(DataTable<Run>, { key: day, label: `Activity, ${day}`, columns, rows, rowKey: ({ id }) => id }),
    ]),
  );
}

/** An entry, or what one key imported in an hour: several appends, or several kinds of record. `since` is the time of the first one. */
type Run = Activity & { since: number; parts: readonly [Activity, ...Activity[]] };

function runsOf(rows: readonly Activity[]): Run[] {
  const byRun = Map.groupBy(rows, ({ id, at, key_id, action, record }) => {
    if (action !== 'import') return id;
    const isAppend = record === 'message' || record === 'conversation';
    return `${Math.floor(at / 3_600)} ${key_id} ${isAppend ? record : ''}`;
  });
  return [...byRun.values()].map((run) => {
    const kinds = [...Map.groupBy(run, ({ record }) => record).values()].map((entries) => ({
      ...(entries[0] as Activity),
      count: entries.reduce((sum, { count }) => sum + count, 0),
    }));
    const [first, ...others] = kinds;
    return {
      ...(first as Activity),
      since: run.at(-1)?.at ?? 0,
      count: kinds.reduce((sum, { count }) => sum + count, 0),
      parts: [first as Activity, ...others],
    };
  });
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

/** The kinds of record of an import; their names are folded. */
const Parts = ({ parts, isOpen }: { parts: readonly Activity[]; isOpen: boolean }) =>
  h(
    'details',
    { class: 'names parts', open: isOpen },
    el('summary.one-line', parts.map(countedKind).join(', ')),
    parts.map((entry) => el('div', el('span.soft', countedKind(entry)), h(Names, { entry }))),
  );

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
  if (first === undefined) return null;
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
