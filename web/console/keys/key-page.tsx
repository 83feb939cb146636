import type { ComponentChildren } from 'preact';
import { joined } from '../../shared/controls.tsx';
import { RecentActivity } from '../activity/activity.tsx';
import { brief, capital, whole } from '../components/format-number.ts';
import { ErrorNote, Facts, Id, ListEnd, Nothing, Page, Section, Time } from '../components/ui.tsx';
import { type All, useResponse } from '../hooks/requests.ts';
import { useRecord } from '../hooks/use-record.ts';
import { FailureTable } from '../overview/health.tsx';
import { Plot } from '../overview/plot.tsx';
import { sum } from '../overview/series.ts';
import { errorSeries } from '../overview/traffic.ts';
import { hrefOf } from '../state/route.ts';
import { timeText } from '../state/times.ts';
import type { Failures, Key } from '../state/types.ts';
import { type KeyState, reachOf, stateOf, titleOf } from './key-labels.ts';

type Props = { id: string; of: Key | undefined; list: All<Key>; act: (key: Key) => ComponentChildren };

/** What a key allows, how its requests fare, and what was changed with it. */
export function KeyPage({ id, of: key, list, act }: Props) {
  const { body: failures, error, reload } = useResponse<Failures>('/admin/failures', 10_000);
  const recent = failures?.data.filter(({ key_id }) => key_id === id) ?? [];
  const hours = failures?.by_key.find(({ key_id }) => key_id === id)?.hours ?? [];
  return (
    <Page
      title={key === undefined ? `Key ${id.slice(0, 8)}` : titleOf(key)}
      trail={[{ name: 'Keys', href: hrefOf('keys') }]}
      meta={key && <State state={stateOf(key, Date.now() / 1000)} />}
      actions={key && act(key)}
    >
      <ListEnd list={list} nothing="" />
      {key === undefined ? (
        !list.isLoading && <p class="soft">There is no key with this ID.</p>
      ) : (
        <KeyFacts of={key} hasFailed={hours.length + recent.length > 0} />
      )}
      <Section title="Rejected and failed requests" meta="the last 24 hours">
        <ErrorNote error={error} retry={reload} />
        {failures && <ErrorPlot hours={hours} />}
        {recent.length > 0 && <FailureTable failures={recent} title="By route" />}
      </Section>
      <RecentActivity title="Changes with this key" filters={{ key_id: id }} />
    </Page>
  );
}

const KeyFacts = ({ of: key, hasFailed }: { of: Key; hasFailed: boolean }) => (
  <Facts
    facts={[
      ['Kind', <Kind of={key} />],
      ['Created', <Time at={key.created_at} form="day" />],
      [key.revoked_at === null ? 'Ends' : 'Revoked', <Time at={key.revoked_at ?? key.expires_at} form="day" />],
      ['Requests, 24 h', <Requests of={key} />],
      ['Last used', <Time at={key.last_used_at} none={hasFailed ? 'Never successfully' : 'Never'} />],
      ['Allows', <Reach of={key} />],
      ['ID', <Id id={key.id} />],
    ]}
  />
);

const hoursShown = 24;
const hourSeconds = 3_600;

/** The failed requests of a key by hour, up to the current one. */
function ErrorPlot({ hours }: { hours: Failures['by_key'][number]['hours'] }) {
  const last = Math.floor(Date.now() / 1000 / hourSeconds);
  const times = Array.from({ length: hoursShown }, (_, n) => (last - hoursShown + 1 + n) * hourSeconds);
  const none = { client_errors: 0, server_errors: 0 };
  const series = errorSeries(times.map((time) => hours.find(({ at }) => at === time) ?? none));
  const [rejected, failed] = series.map(({ values }) => sum(values));
  if (!rejected && !failed)
    return <Nothing icon="check">No request with this key was rejected or failed in the last 24 hours.</Nothing>;
  return (
    <Plot
      title="Requests per hour"
      summary={`${whole(rejected ?? 0)} rejected, ${whole(failed ?? 0)} failed in the last 24 hours`}
      kind="bars"
      series={series}
      points={times.map((time) => timeText(time))}
      times={times}
      labels={times.map((time) => timeText(time, 'clock'))}
      format={whole}
      tick={brief}
    />
  );
}

/** The requests of a key in a day, and how many of them failed. */
export const Requests = ({ of: { requests, errors } }: { of: Key }) => (
  <span class={requests === 0 ? 'soft' : undefined}>
    {whole(requests)}
    {errors > 0 && <span class="failed"> · {whole(errors)} failed</span>}
  </span>
);

/** Red is for danger: a key that was revoked is none. */
const badges: Record<KeyState, string> = { active: 'good', 'expires soon': 'warn', expired: '', revoked: '' };

export const State = ({ state }: { state: KeyState }) => <span class={`badge ${badges[state]}`}>{capital(state)}</span>;

export const Kind = ({ of: { kind, read_only } }: { of: Key }) => (
  <span>
    {capital(kind)}
    {read_only && [' ', <span class="badge">Read-only</span>]}
  </span>
);

/** The names of more datasets are not shown: each is a request, and a key may have a thousand. */
const namedMax = 5;

export function Reach({ of: key }: { of: Key }) {
  const { words, list, ids } = reachOf(key);
  const more = ids.length - namedMax;
  return (
    <span class="reach">
      {capital(words)} {joined(ids.slice(0, namedMax).map((id) => <Name list={list} id={id} />))}
      {more > 0 && ` and ${more} more`}
    </span>
  );
}

/** The name of a record; its id until the name is loaded, or if there is none. */
function Name({ list, id }: { list: string; id: string }) {
  return useRecord<{ name: string }>(['admin', list, id])?.name || id;
}
