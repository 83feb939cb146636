import { CopyButton } from '../../shared/controls.ts';
import { el, h } from '../../shared/dom.ts';
import { By } from '../activity/activity.ts';
import { DataTable } from '../components/table.ts';
import { brief, ErrorNote, millis, Nothing, Section, Skeleton, Time, whole } from '../components/ui.ts';
import { useResponse } from '../hooks/requests.ts';
import { locale, timeText, zone } from '../state/times.ts';
import type { Failure, Failures, KeyErrors, Traffic, UpstreamStatistics } from '../state/types.ts';
import { Plot } from './plot.ts';
import { trafficPlots, trafficSummary } from './traffic.ts';

const refreshMillis = 10_000;
const seconds = new Intl.DateTimeFormat(locale, { timeStyle: 'medium', timeZone: zone, hourCycle: 'h23' });

/** The health of the instance that serves the console: requests, latency and errors, and what failed. */
export function Health() {
  const traffic = useResponse<Traffic>('/admin/traffic', refreshMillis);
  const failures = useResponse<Failures>('/admin/failures', refreshMillis);
  const error = traffic.error ?? failures.error;
  const reload = () => {
    traffic.reload();
    failures.reload();
  };
  return h(Section, { title: 'Health of this instance', meta: 'the last hour, refreshed every 10 seconds' }, [
    h(ErrorNote, { error, retry: reload }),
    traffic.body === undefined ? error === undefined && h(Skeleton, null) : h(TrafficPlots, { traffic: traffic.body }),
    traffic.body?.upstream && h(UpstreamTable, { statistics: traffic.body.upstream }),
    failures.body && [
      h(FailureTable, { failures: failures.body.data }),
      failures.body.by_key.length > 0 && h(KeyErrorTable, { rows: failures.body.by_key }),
    ],
  ]);
}

function TrafficPlots({ traffic }: { traffic: Traffic }) {
  const { at, isEmpty, requests, latency, errors } = trafficPlots(traffic);
  if (isEmpty)
    return el(
      'div.card',
      h(Nothing, { icon: 'activity' }, 'No requests in the last hour. Requests of this console are not counted.'),
    );
  const summaries = trafficSummary(traffic);
  const points = at.map((time) => seconds.format(time * 1000));
  const common = { points, times: at, labels: at.map((time) => timeText(time, 'clock')) };
  const perSecond = { kind: 'bars', series: requests, format: brief, tick: brief } as const;
  const durations = { kind: 'lines', series: latency, format: millis, tick: millis } as const;
  const counts = { kind: 'bars', series: errors, format: whole, tick: brief, isWhole: true } as const;
  return el('div.traffic', [
    h(Plot, { ...common, ...perSecond, title: 'Requests per second', ...summaries.requests }),
    h(Plot, { ...common, ...durations, title: 'Latency', ...summaries.latency }),
    h(Plot, { ...common, ...counts, title: 'Errors', ...summaries.errors }),
  ]);
}

const secondsText = (count: number | null) => (count === null ? '–' : `${whole(count)} s`);

const UpstreamTable = ({ statistics }: { statistics: UpstreamStatistics }) =>
  el('div.card.stack', [
    el('h3', 'Upstream'),
    el('p.soft', 'Requests to /v1 since the start of this instance.'),
    h(DataTable<UpstreamStatistics>, {
      label: 'Upstream',
      rows: [statistics],
      rowKey: () => '',
      columns: [
        { title: 'Served', cell: ({ served }) => whole(served), isNumber: true },
        { title: 'Passed on', cell: ({ passed_on }) => whole(passed_on), isNumber: true },
        { title: 'In doubt', cell: ({ in_doubt }) => whole(in_doubt), isNumber: true },
        { title: 'No response', cell: ({ errors }) => whole(errors), isNumber: true },
        {
          title: 'First byte',
          cell: ({ response_millis: time }) => (time === null ? '–' : millis(time)),
          isNumber: true,
        },
        { title: 'Objects in doubt', cell: ({ doubts }) => (doubts === null ? '–' : whole(doubts)), isNumber: true },
        { title: 'Lag of messages', cell: (row) => secondsText(row.messages_lag_seconds), isNumber: true },
        { title: 'Lag of others', cell: (row) => secondsText(row.others_lag_seconds), isNumber: true },
      ],
    }),
  ]);

/** Requests that failed in a day, with the key that should be looked at first. */
const KeyErrorTable = ({ rows }: { rows: readonly KeyErrors[] }) =>
  el('div.card.stack', [
    el('h3', 'Failed requests by key'),
    el('p.soft', 'The last 24 hours, all instances, most errors first.'),
    h(DataTable<KeyErrors>, {
      label: 'Failed requests by key',
      rows,
      rowKey: ({ key_id }) => key_id,
      columns: [
        { title: 'Key', cell: (entry) => h(By, { entry }) },
        { title: 'Rejected (4xx)', isNumber: true, cell: ({ client_errors }) => whole(client_errors) },
        { title: 'Failed (5xx)', isNumber: true, cell: ({ server_errors }) => whole(server_errors) },
      ],
    }),
  ]);

export const FailureTable = ({ failures }: { failures: readonly Failure[] }) =>
  el('div.card.stack', [
    el('h3', 'Rejected and failed requests'),
    failures.length === 0
      ? el('p.soft', 'None in the last hour.')
      : h(DataTable<Failure>, {
          label: 'Rejected and failed requests',
          rows: failures,
          rowKey: ({ status, method, route, key_id }) => `${status} ${method} ${route} ${key_id}`,
          columns: [
            {
              title: 'Status',
              cell: ({ status }) => h('span', { class: status >= 500 ? 'badge bad' : 'badge warn' }, status),
            },
            {
              title: 'Request and last error',
              cell: ({ method, route, code, message }) =>
                el('div', el('code', `${method} ${route}`), el('p.soft', code, ': ', message)),
            },
            { title: 'Key', cell: (entry) => h(By, { entry, none: 'no valid key' }) },
            { title: 'Count', cell: ({ count }) => whole(count), isNumber: true },
            { title: 'Last', cell: ({ last_at }) => h(Time, { at: last_at, form: 'brief' }) },
            {
              title: 'Request id',
              cell: ({ request_id: id }) =>
                el('span.row', [
                  el('code', id.slice(0, 8)),
                  h(CopyButton, { text: id, label: `Copy ${id.slice(0, 8)}`, icon: 'copy' }),
                ]),
            },
          ],
        }),
  ]);
