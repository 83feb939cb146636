import type { DatabaseState } from '../../domain/health/read-state.ts';
import type { JobState, NodeState } from '../../domain/store/monitoring.ts';
import type { Labels, Sample } from './series-table.ts';

/** What is read of the database for metrics. */
export const gaugeState = [
  'changes',
  'search',
  'dify',
  'doubts',
  'size',
  'nodes',
  'copies',
  'jobs',
  'keyErrors',
] as const satisfies (keyof DatabaseState)[];
export type GaugeState = Partial<Pick<DatabaseState, (typeof gaugeState)[number]>>;

type Gauge = { name: string; help: string; samples: (state: GaugeState, now: number) => Sample[] };

/** What has no value is left out. */
const samplesOf = (values: readonly (readonly [labels: Labels, value: number | undefined])[]): Sample[] =>
  values.flatMap(([labels, value]) => (value === undefined ? [] : [{ labels, value }]));

/** A gauge without labels. */
const gauge = (name: string, help: string, value: (state: GaugeState, now: number) => number | undefined): Gauge => ({
  name,
  help,
  samples: (state, now) => samplesOf([[{}, value(state, now)]]),
});

/** A gauge by node of a cluster. */
const nodeGauge = (name: string, help: string, value: (node: NodeState) => number | undefined): Gauge => ({
  name,
  help,
  samples: ({ nodes = [] }) => samplesOf(nodes.map((node) => [{ node: node.name }, value(node)])),
});

/** A gauge of the last backup to the store of backups. */
const ofStore = (name: string, help: string, value: (backup: JobState, now: number) => number | null | undefined) =>
  gauge(name, help, ({ jobs }, now) => {
    const backup = jobs?.find(({ kind }) => kind === 'store');
    return (backup && value(backup, now)) ?? undefined;
  });

/** 0 if there is no time. */
const secondsSince = (time: number | null | undefined, now: number): number | undefined =>
  time === undefined ? undefined : time === null ? 0 : Math.max(0, now - time);

/** Gauges of the database, which are the same on every instance. `now` is in seconds. */
export const databaseGauges: readonly Gauge[] = [
  gauge('backscroll_changes_head', 'Newest position of the change feed.', ({ changes }) => changes?.position),
  gauge(
    'backscroll_changes_unsequenced',
    'Committed changes without a position.',
    ({ changes }) => changes?.unsequenced,
  ),
  gauge('backscroll_changes_oldest_unsequenced_seconds', 'Age of the oldest of these changes.', ({ changes }, now) =>
    secondsSince(changes?.oldestUnsequenced, now),
  ),
  gauge('backscroll_search_lag_changes', 'Changes that the search does not find yet.', ({ search }) => search?.changes),
  gauge('backscroll_search_lag_seconds', 'Age of the oldest of them.', ({ search }, now) =>
    secondsSince(search?.oldest, now),
  ),
  gauge(
    'backscroll_search_building',
    '1 while the index of the search is built from all records.',
    ({ search }) => search && Number(search.isBuilding),
  ),
  {
    name: 'backscroll_dify_lag_seconds',
    help: 'Everything that was committed longer ago than this in the followed Dify installation is stored.',
    samples: ({ dify }) =>
      samplesOf([
        [{ of: 'messages' }, dify?.messages_lag_seconds],
        [{ of: 'others' }, dify?.others_lag_seconds],
      ]),
  },
  gauge('backscroll_doubts', 'Objects in doubt, which the upstream serves.', ({ doubts }) => doubts),
  gauge(
    'backscroll_erased_copies_seconds',
    'Time since the first erasure whose texts still have copies in files of the embedded database; 0 if there is none.',
    ({ copies }, now) => copies && secondsSince(copies.waiting_since, now),
  ),
  gauge('backscroll_database_bytes', 'Size of the database.', ({ size }) => size?.bytes),
  nodeGauge('backscroll_node_up', '1 if a node of the Citus cluster responds.', ({ state }) => (state ? 1 : 0)),
  nodeGauge('backscroll_node_backends', 'Connections to a node.', ({ state }) => state?.backends),
  nodeGauge(
    'backscroll_node_oldest_prepared_seconds',
    'Age of the oldest prepared transaction on a node; 0 if there is none.',
    ({ state }) => state?.oldestPreparedSeconds,
  ),
  {
    name: 'backscroll_backup_age_seconds',
    help: 'Time since the last successful command backup or export.',
    samples: ({ jobs = [] }, now) =>
      jobs.flatMap(({ kind, at }) =>
        at === null || kind === 'retention' ? [] : samplesOf([[{ kind }, secondsSince(at, now)]]),
      ),
  },
  ofStore('backscroll_backup_bytes', 'Size of the last backup to BACKUP_URL.', ({ bytes }) => bytes),
  ofStore('backscroll_backup_duration_seconds', 'Duration of the last backup to BACKUP_URL.', ({ millis }) =>
    millis === null ? null : millis / 1000,
  ),
  ofStore(
    'backscroll_backup_failing_seconds',
    'Time since the first backup to BACKUP_URL that failed after the last success; 0 if the last one succeeded.',
    ({ failing_since }, now) => secondsSince(failing_since, now),
  ),
  {
    name: 'backscroll_key_errors_24h',
    help: 'Failed requests of the keys with the most errors in the last 24 hours, to all instances.',
    samples: ({ keyErrors = [] }) =>
      keyErrors.flatMap(({ key_id, key_name, client_errors, server_errors }) => {
        const labels = { key_id, key: key_name ?? '' };
        return samplesOf([
          [{ ...labels, status: '4xx' }, client_errors],
          [{ ...labels, status: '5xx' }, server_errors],
        ]);
      }),
  },
];
