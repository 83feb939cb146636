import type { ComponentChildren } from 'preact';
import { Fold } from '../../shared/controls.tsx';
import { type Column, DataTable } from '../components/table.tsx';
import { counted, count as numberText, Time } from '../components/ui.tsx';
import { ChunkChange } from '../knowledge/chunk-change.tsx';
import { hrefOf } from '../state/route.ts';
import { dayName } from '../state/times.ts';
import type { Activity } from '../state/types.ts';

/** Entries of the audit log by day, newest first. */
export function ActivityTable({ rows }: { rows: readonly Activity[] }) {
  const runs = runsOf(rows);
  const columns: Column<Run>[] = [
    {
      title: 'Record',
      cell: ({ parts }) =>
        parts.length > 1 ? <Parts parts={parts} isOpen={runs.length === 1} /> : <Names entry={parts[0]} />,
    },
    { title: 'Action', cell: ({ action }) => <span class={classOf(action)}>{actions[action]}</span> },
    {
      title: 'Number',
      cell: ({ parts, count }) => (parts.length > 1 ? counted(count, 'record') : countedKind(parts[0])),
    },
    {
      title: 'By',
      cell: (entry) => [<By entry={entry} />, entry.tool && <span class="soft"> with {entry.tool}</span>],
    },
    {
      title: 'Time',
      cell: ({ at, since }) => [
        Math.floor(since / 60) !== Math.floor(at / 60) && [<Time at={since} form="clock" />, '–'],
        <Time at={at} form="clock" />,
      ],
    },
  ];
  const byDay = Map.groupBy(runs, ({ at }) => dayName(at));
  const groups = [...byDay].map(([day, rows]) => ({ id: day, heading: <strong>{day}</strong>, rows }));
  return <DataTable label="Activity" columns={columns} groups={groups} />;
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

/** The person or the key, as a link, except in a `summary`, which is a control itself. */
export function By({ entry, isText, none = 'command line' }: ByProps) {
  const { key_id, key_name, person_id, person_name } = entry;
  const id = key_id ?? person_id;
  if (!id) return none;
  const kind = key_id === null ? 'person' : 'key';
  const name = key_name || person_name || `${kind} ${id.slice(0, 8)}`;
  const title = `${kind} ${id}`;
  if (isText) return <span title={title}>{name}</span>;
  return (
    <a href={hrefOf(key_id === null ? 'people' : 'keys', id)} title={title}>
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

/** The name of the first record; the others, and what was changed, are folded. */
function Names({ entry: { action, at, record, records, count, app_id, app_name, changes } }: { entry: Activity }) {
  const name = ({ id, name, path }: Activity['records'][number]): ComponentChildren => {
    const href = hrefOfRecord(record, path);
    const text = name || <span class="mono soft">{id}</span>;
    return (
      <p key={id} class="one-line" title={name || id}>
        {href === undefined ? text : <a href={href}>{text}</a>}
      </p>
    );
  };
  // What was erased has no name any more.
  const ofApp = app_id !== null && (
    <p class="one-line">
      of <a href={hrefOf('apps', app_id)}>{app_name || app_id}</a>
    </p>
  );
  const [first, ...folded] = ofApp ? [ofApp] : records.map(name);
  const rest = count - records.length;
  if (first === undefined) return null;
  const edited = record === 'child_chunk' && action === 'update' && count === 1 ? records[0]?.path : null;
  return (
    <div class="names">
      {first}
      {changes.length > 0 && <span class="soft small one-line">{changes.map(changeText).join(', ')}</span>}
      {edited && (
        <Fold title="Old → new">
          <ChunkChange place={edited} at={at} />
        </Fold>
      )}
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

const valueTexts: Readonly<Record<string, string>> = { true: 'yes', false: 'no' };
const fieldNames: Readonly<Record<string, string>> = { read_only: 'read-only', retention_days: 'retention' };

/** `name web → web 2`, `retention as everywhere → 90 days` */
function changeText({ field, before, after }: Activity['changes'][number]): string {
  const text = (value: string | null) => {
    if (field === 'retention_days') return value === null ? 'as everywhere' : counted(Number(value), 'day');
    return field === 'name' ? value : (valueTexts[value ?? ''] ?? value ?? 'none');
  };
  return `${fieldNames[field] ?? field} ${text(before)} → ${text(after)}`;
}

/** Actions and kinds of record as the user reads them, and where their records are shown. */

export const actions: Readonly<Record<Activity['action'], string>> = {
  create: 'Created',
  update: 'Changed',
  delete: 'Deleted',
  import: 'Imported',
  revoke: 'Revoked',
  purge: 'Erased',
  retain: 'Erased by retention',
};

export const kinds: Readonly<Record<Activity['record'], string>> = {
  conversation: 'conversation',
  message: 'message',
  review: 'review',
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
  if (kind === 'api_key' || kind === 'app') return hrefOf(kind === 'app' ? 'apps' : 'keys', ...path);
  // A provider has no address of its own: its workspace is shown.
  if (kind === 'model_provider') return hrefOf('models', ...path.slice(0, 1));
  return hrefOf(['conversation', 'message'].includes(kind) ? 'conversations' : 'knowledge', ...path);
}
