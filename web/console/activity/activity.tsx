import type { ComponentChildren } from 'preact';
import { useEffect, useMemo } from 'preact/hooks';
import { Select } from '../../shared/controls.tsx';
import { FilterSearch } from '../components/filters.tsx';
import { DayField } from '../components/period-fields.tsx';
import { type Column, DataTable } from '../components/table.tsx';
import { counted, ListEnd, count as numberText, Page, Section, Time } from '../components/ui.tsx';
import { type List, useAll, useList } from '../hooks/requests.ts';
import { pathOf } from '../state/api.ts';
import { type FilterAccess, type Filters, hrefOf, hrefWith, useFilters } from '../state/route.ts';
import { daySeconds, daySecondsOf, dayText, timeText } from '../state/times.ts';
import type { Activity, Key } from '../state/types.ts';

const rowsAtOnce = 50;
/** A filter without an index may need several requests until it finds this many rows. */
const rowsWanted = 20;

/** The audit log as a table: who changed what, and when. */
export function View() {
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
    <Page title="Activity" meta={meta}>
      <FilterBar {...access} />
      <ActivityTable rows={list.rows} />
      {isSearching ? (
        <p class="soft" role="status">
          Searching…
        </p>
      ) : (
        <ListEnd list={list} nothing="The audit log has no changes with these filters." />
      )}
    </Page>
  );
}

/** The audit log with the filters of an address. `days` counts back from now; `day` is one day in UTC. */
function useActivity({ days, day, ...filters }: Filters, limit: number): List<Activity> {
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
    const change = (value: string) => setFilters({ [name]: value });
    return <Select label={<span class="hidden-label">{label}</span>} value={value} options={all} change={change} />;
  };
  const toggleAppends = () => setFilters({ appends: filters.appends === 'shown' ? '' : 'shown' });
  return (
    <div class="tools row activity-tools">
      <FilterSearch label="ID of a record" name="record_id" />
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
  const content = [
    <ActivityTable rows={list.rows} />,
    list.hasMore ? (
      <a href={hrefWith(['activity'], filters)}>All changes</a>
    ) : (
      <ListEnd list={list} icon="activity" nothing="None in the audit log." />
    ),
  ];
  return title === undefined ? <div class="stack">{content}</div> : <Section title={title}>{content}</Section>;
}

function ActivityTable({ rows }: { rows: readonly Activity[] }) {
  const runs = runsOf(rows);
  const columns: Column<Run>[] = [
    {
      title: 'Time',
      cell: ({ at, since }) => (
        <>
          {since !== at && (
            <>
              <Time at={since} form="clock" />–
            </>
          )}
          <Time at={at} form="clock" />
        </>
      ),
    },
    {
      title: 'By',
      cell: (entry) => (
        <>
          <By entry={entry} />
          {entry.tool && <span class="soft"> with {entry.tool}</span>}
        </>
      ),
    },
    { title: 'Action', cell: ({ action }) => <span class={classOf(action)}>{actions[action]}</span> },
    {
      title: 'Records',
      cell: ({ parts, count }) => (parts.length > 1 ? counted(count, 'record') : countedKind(parts[0])),
    },
    {
      title: 'Names',
      cell: ({ parts }) =>
        parts.length > 1 ? <Parts parts={parts} isOpen={runs.length === 1} /> : <Names entry={parts[0]} />,
    },
  ];
  const byDay = Map.groupBy(runs, ({ at }) => timeText(at, 'longDay'));
  const groups = [...byDay].map(([day, rows]) => ({ id: day, heading: <strong>{day}</strong>, rows }));
  return <DataTable<Run> label="Activity" columns={columns} groups={groups} rowKey={({ id }) => id} />;
}

/** An entry, or what one key imported in an hour: several appends, or several kinds of record. `since` is the time of the first one. */
type Run = Activity & { since: number; parts: readonly [Activity, ...Activity[]] };

function runsOf(rows: readonly Activity[]): Run[] {
  const byRun = Map.groupBy(rows, ({ id, at, key_id, person_id, action, record }) => {
    if (action !== 'import') return id;
    const isAppend = record === 'message' || record === 'conversation';
    return `${Math.floor(at / 3_600)} ${key_id ?? person_id} ${isAppend ? record : ''}`;
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

type Author = Pick<Activity, 'key_id' | 'key_name'> & Partial<Pick<Activity, 'person_id' | 'person_name'>>;
type ByProps = { entry: Author; isText?: boolean; none?: string };

/** The person, or the key as a link to it, except in a `summary`, which is a control itself. */
export function By({ entry, isText, none = 'command line' }: ByProps) {
  const { key_id, key_name, person_id, person_name } = entry;
  if (person_id) return <span title={`person ${person_id}`}>{person_name || person_id.slice(0, 8)}</span>;
  if (key_id === null) return none;
  const name = key_name || `key ${key_id.slice(0, 8)}`;
  const title = `key ${key_id}`;
  if (isText) return <span title={title}>{name}</span>;
  return (
    <a href={hrefOf('keys', key_id)} title={title}>
      {name}
    </a>
  );
}

/** The kinds of record of an import; their names are folded. */
const Parts = ({ parts, isOpen }: { parts: readonly Activity[]; isOpen: boolean }) => (
  <details class="names parts" open={isOpen}>
    <summary class="one-line">{parts.map(countedKind).join(', ')}</summary>
    {parts.map((entry) => (
      <div>
        <span class="soft">{countedKind(entry)}</span>
        <Names entry={entry} />
      </div>
    ))}
  </details>
);

/** The name of the first record; the others are folded. */
function Names({ entry: { record, records, count } }: { entry: Activity }) {
  const name = ({ id, name, path }: Activity['records'][number]): ComponentChildren => {
    const href = hrefOfRecord(record, path);
    const text = name || <span class="mono soft">{id}</span>;
    return (
      <p key={id} class="one-line" title={name || id}>
        {href === undefined ? text : <a href={href}>{text}</a>}
      </p>
    );
  };
  const [first, ...folded] = records.map(name);
  const rest = count - records.length;
  if (first === undefined) return null;
  return (
    <div class="names">
      {first}
      {folded.length > 0 && (
        <details>
          <summary>{numberText(count - 1)} more</summary>
          {folded}
          {rest > 0 && <p class="soft">and {counted(rest, 'other')}</p>}
        </details>
      )}
    </div>
  );
}

/** Actions and kinds of record as the user reads them, and where their records are shown. */

const actions: Readonly<Record<Activity['action'], string>> = {
  create: 'Created',
  update: 'Changed',
  delete: 'Deleted',
  import: 'Imported',
  revoke: 'Revoked',
  purge: 'Erased',
  retain: 'Erased by retention',
};

const kinds: Readonly<Record<Activity['record'], string>> = {
  conversation: 'conversation',
  message: 'message',
  dataset: 'dataset',
  document: 'document',
  segment: 'segment',
  child_chunk: 'chunk',
  child_chunk_revision: 'chunk revision',
  api_key: 'key',
  person: 'person',
  app: 'app',
  workspace: 'workspace',
  model_provider: 'model provider',
};

const countedKind = ({ count, record, messages }: Activity): string => {
  const records = counted(count, kinds[record]);
  return messages === null || record === 'message' ? records : `${records} with ${counted(messages, kinds.message)}`;
};

/** The address of a record that exists; undefined if no view shows it. */
function hrefOfRecord(kind: Activity['record'], path: readonly string[] | null): string | undefined {
  if (path === null || kind === 'workspace' || kind === 'person') return undefined;
  if (kind === 'api_key') return hrefOf('keys', ...path);
  // A provider has no address of its own: its workspace is shown.
  if (kind === 'model_provider') return hrefOf('models', ...path.slice(0, 1));
  return hrefOf(['app', 'conversation', 'message'].includes(kind) ? 'conversations' : 'knowledge', ...path);
}
