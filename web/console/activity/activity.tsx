import { useEffect, useMemo } from 'preact/hooks';
import { Select, Status } from '../../shared/controls.tsx';
import { FilterSearch } from '../components/filters.tsx';
import { Menu } from '../components/menu.tsx';
import { DayField } from '../components/period-fields.tsx';
import { ListEnd, count as numberText, Page, Section } from '../components/ui.tsx';
import { type List, useAll, useList } from '../hooks/requests.ts';
import { pathOf } from '../state/api.ts';
import {
  type FilterAccess,
  type Filters,
  hrefOf,
  hrefWith,
  useFilters,
  useMayRead,
  type ViewProps,
} from '../state/route.ts';
import { boundsOfDay, daySeconds, dayText } from '../state/times.ts';
import type { Activity, Key } from '../state/types.ts';
import { ActivityTable, actions, kinds } from './activity-table.tsx';
import { ReadsPage } from './reads.tsx';

const rowsAtOnce = 50;
/** A filter without an index may need several requests until it finds this many rows. */
const rowsWanted = 20;

/** The audit log: who changed what, and when; or who read what. */
export const View = ({ rest: [part] }: ViewProps) => (part === 'reads' ? <ReadsPage /> : <Changes />);

function Changes() {
  const maySeeReads = useMayRead('listReads');
  const access = useFilters();
  const list = useActivity(access.filters, rowsAtOnce);
  useEffect(() => {
    if (list.hasMore && !list.isLoading && list.error === undefined && list.rows.length < rowsWanted) list.more();
  }, [list]);
  const isSearching = list.hasMore && list.rows.length < rowsWanted && list.error === undefined;
  const records = list.rows.reduce((sum, { count }) => sum + count, 0);
  const meta =
    records > 0 && `${numberText(records)}${list.hasMore ? '+' : ''} ${records === 1 ? 'record' : 'records'}`;
  return (
    <Page title="Activity" meta={meta} actions={maySeeReads && <a href={hrefOf('activity', 'reads')}>Who read what</a>}>
      <FilterBar {...access} />
      <ActivityTable rows={list.rows} />
      {isSearching ? (
        <Status>Searching…</Status>
      ) : (
        <ListEnd list={list} icon="activity" nothing="The audit log has no changes with these filters." />
      )}
    </Page>
  );
}

/** The audit log with the filters of an address. `days` counts back from now; `day` is one day. */
function useActivity({ days, day, ...filters }: Filters, limit: number): List<Activity> {
  const { key_id, action, record, record_id, dataset_id, document_id } = filters;
  const [from, to] = useMemo(() => {
    const bounds = boundsOfDay(day ?? '');
    if (bounds !== undefined) return bounds;
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
    const change = (value: string) => setFilters({ [name]: value });
    return <Select label={<span class="hidden-label">{label}</span>} value={value} options={all} change={change} />;
  };
  const isFiltered = Object.keys(filters).some((name) => name !== 'record_id');
  const toggleAppends = () => setFilters({ appends: filters.appends === 'shown' ? '' : 'shown' });
  return (
    <div class="tools row activity-tools">
      <FilterSearch label="ID of a record" name="record_id" />
      <Menu class={isFiltered ? 'sheet set' : 'sheet'} label="Filters" icon="filter">
        {select('key_id', 'By', 'By anyone', names)}
        {select('action', 'Action', 'All actions', Object.entries(actions))}
        {select('record', 'Records', 'All records', Object.entries(kinds))}
        <Select
          label={<span class="hidden-label">When</span>}
          value={filters.day === undefined ? (filters.days ?? '') : 'day'}
          options={[['', 'Any time'], ...periods, ['day', 'One day']]}
          change={(days) =>
            setFilters(days === 'day' ? { days: '', day: dayText(Date.now() / 1000) } : { days, day: '' })
          }
        />
        {filters.day !== undefined && (
          <DayField label="Day" value={filters.day ?? ''} change={(day) => setFilters({ day })} />
        )}
        <label class="tick">
          <input type="checkbox" checked={filters.appends === 'shown'} onChange={toggleAppends} />
          With stored messages
        </label>
      </Menu>
    </div>
  );
}

/** Days up to now. */
const periods: Options = [
  ['1', 'Last 24 hours'],
  ['7', 'Last 7 days'],
  ['30', 'Last 30 days'],
];
type Options = readonly (readonly [value: string, text: string])[];

type RecentProps = { title?: string; filters: Filters; isOptional?: boolean };

/** The newest changes with these filters, and the way to the others. `isOptional`: nothing if there are none. */
export function RecentActivity({ title, filters, isOptional = false }: RecentProps) {
  const list = useActivity(filters, 10);
  if (isOptional && list.rows.length === 0 && list.error === undefined) return null;
  const content = (
    <>
      <ActivityTable rows={list.rows} />
      {list.hasMore ? (
        <a href={hrefWith(['activity'], filters)}>All changes</a>
      ) : (
        <ListEnd list={list} icon="activity" nothing="None in the audit log." />
      )}
    </>
  );
  return title === undefined ? <div class="stack">{content}</div> : <Section title={title}>{content}</Section>;
}
