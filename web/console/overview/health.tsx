import { useMemo } from 'preact/hooks';
import { By } from '../activity/activity-table.tsx';
import { DataTable } from '../components/table.tsx';
import {
  brief,
  duration,
  ErrorNote,
  Id,
  millis,
  Nothing,
  percent,
  Section,
  Skeleton,
  Time,
  whole,
} from '../components/ui.tsx';
import { useResponse } from '../hooks/requests.ts';
import { locale, timeText, zone } from '../state/times.ts';
import type { Failure, Failures, KeyErrors, Traffic, UpstreamStatistics } from '../state/types.ts';
import { Plot } from './plot.tsx';
import { LagHistory, trafficPlots, trafficSummary } from './traffic.ts';
import { Verdicts } from './verdicts.tsx';

const refreshMillis = 10_000;
const seconds = new Intl.DateTimeFormat(locale, { timeStyle: 'medium', timeZone: zone, hourCycle: 'h23' });

/** It stays while other views are shown. */
const lags = new LagHistory();

/** The health of the instance that serves the console: requests, latency and errors, and what failed. */
export function Health() {
  const traffic = useResponse<Traffic>('/admin/traffic', refreshMillis);
  const failures = useResponse<Failures>('/admin/failures', refreshMillis);
  const error = traffic.error ?? failures.error;
  const reload = () => {
    traffic.reload();
    failures.reload();
  };
  return (
    <>
      <Verdicts />
      <Section title="This instance" meta="the last hour, refreshed every 10 seconds">
        <ErrorNote error={error} retry={reload} />
        {traffic.body === undefined ? error === undefined && <Skeleton /> : <TrafficPlots traffic={traffic.body} />}
        {traffic.body?.upstream && <UpstreamTable statistics={traffic.body.upstream} />}
        {failures.body && (
          <>
            <FailureTable failures={failures.body.data} />
            {failures.body.by_key.length > 0 && <KeyErrorTable rows={failures.body.by_key} />}
          </>
        )}
      </Section>
    </>
  );
}

function TrafficPlots({ traffic }: { traffic: Traffic }) {
  const { at, isEmpty, requests, latency, errors } = trafficPlots(traffic);
  useMemo(() => lags.add(traffic, Date.now() / 1000), [traffic]);
  const lag = lags.series(traffic);
  const behind = lag.map(({ name, last }) => `${name} ${duration(last)}`).join(', ');
  const summaries = trafficSummary(traffic);
  const points = at.map((time) => seconds.format(time * 1000));
  const common = { points, times: at, labels: at.map((time) => timeText(time, 'clock')) };
  const perSecond = { kind: 'bars', series: requests, format: brief, tick: brief } as const;
  const durations = { kind: 'lines', series: latency, format: millis, tick: millis } as const;
  const counts = { kind: 'bars', series: errors, format: whole, tick: brief } as const;
  const lines = { kind: 'lines', series: lag, format: duration, tick: duration } as const;
  return (
    <>
      {isEmpty && (
        <Nothing icon="activity">
          No requests in the hour up to 10 seconds ago. Requests of this console are not counted.
        </Nothing>
      )}
      <div class="traffic">
        {!isEmpty && (
          <>
            <Plot {...common} {...perSecond} title="Requests per second" {...summaries.requests} />
            <Plot {...common} {...durations} title="Latency" {...summaries.latency} />
            <Plot {...common} {...counts} title="Errors" {...summaries.errors} />
          </>
        )}
        {behind && <Plot {...common} {...lines} title="Lag" summary={`${behind} behind; since this page was opened`} />}
      </div>
    </>
  );
}

const known = <T,>(value: T | null, text: (value: T) => string) => (value === null ? '–' : text(value));
const lagText = (seconds: number | null) => known(seconds, duration);

const upstreamNumbers: readonly [title: string, cell: (row: UpstreamStatistics) => string][] = [
  ['Served', ({ served }) => whole(served)],
  ['Passed on', ({ passed_on }) => whole(passed_on)],
  ['In doubt', ({ in_doubt }) => whole(in_doubt)],
  ['No response', ({ errors }) => whole(errors)],
  ['Failed (5xx)', ({ server_errors: n, passed_on }) => (n === 0 ? '0' : `${whole(n)} (${percent(n, passed_on)})`)],
  ['First byte', ({ response_millis }) => known(response_millis, millis)],
  ['Objects in doubt', ({ doubts }) => known(doubts, whole)],
  ['Lag of messages', ({ messages_lag_seconds }) => lagText(messages_lag_seconds)],
  ['Lag of others', ({ others_lag_seconds }) => lagText(others_lag_seconds)],
];

const UpstreamTable = ({ statistics: of }: { statistics: UpstreamStatistics }) => (
  <div class="card stack">
    <h3>Upstream</h3>
    <p class="soft">Requests to /v1 since the start of this instance.</p>
    <p>
      {of.last_success_at === null ? 'No success yet' : ['Last success ', <Time at={of.last_success_at} />]}.{' '}
      {of.last_error_at !== null && (
        <span class="failed">
          Last error <Time at={of.last_error_at} />
          {of.last_error && `: ${of.last_error}`}
        </span>
      )}
    </p>
    <DataTable
      label="Upstream"
      rows={[of]}
      rowKey={() => ''}
      columns={upstreamNumbers.map(([title, cell]) => ({ title, cell, isNumber: true }))}
    />
  </div>
);

/** Requests that failed in a day, with the key that should be looked at first. */
const KeyErrorTable = ({ rows }: { rows: readonly KeyErrors[] }) => (
  <div class="card stack">
    <h3>Failed requests by key</h3>
    <p class="soft">The last 24 hours, all instances, most errors first.</p>
    <DataTable
      label="Failed requests by key"
      rows={rows}
      rowKey={({ key_id }) => key_id}
      columns={[
        { title: 'Key', cell: (entry) => <By entry={entry} /> },
        { title: 'Rejected (4xx)', isNumber: true, cell: ({ client_errors }) => whole(client_errors) },
        { title: 'Failed (5xx)', isNumber: true, cell: ({ server_errors }) => whole(server_errors) },
      ]}
    />
  </div>
);

type FailureProps = { failures: readonly Failure[]; title?: string };

export const FailureTable = ({ failures, title = 'Rejected and failed requests' }: FailureProps) => (
  <div class="card stack">
    <h3>{title}</h3>
    <p class="soft">{failures.length === 0 ? 'None in the last hour.' : 'The last hour, latest first.'}</p>
    <DataTable
      label="Rejected and failed requests"
      rows={failures}
      rowKey={({ status, method, route, key_id }) => `${status} ${method} ${route} ${key_id}`}
      columns={[
        {
          title: 'Status',
          cell: ({ status }) => <span class={status >= 500 ? 'badge bad' : 'badge warn'}>{status}</span>,
        },
        {
          title: 'Request and last error',
          cell: ({ method, route, code, message }) => (
            <div>
              <code>
                {method} {route}
              </code>
              <p class="soft">
                {code && `${code}: `}
                {message}
              </p>
            </div>
          ),
        },
        { title: 'Key', cell: (entry) => <By entry={entry} none="no valid key" /> },
        { title: 'Count', cell: ({ count }) => whole(count), unit: 'times' },
        { title: 'Request ID', cell: ({ request_id: id }) => <Id id={id} text={id.slice(0, 8)} /> },
        { title: 'Last', cell: ({ last_at }) => <Time at={last_at} form="brief" /> },
      ]}
    />
  </div>
);
