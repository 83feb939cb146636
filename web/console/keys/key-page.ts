import { type ComponentChildren, el, h } from '../../shared/dom.ts';
import { ActivityTable, useActivity } from '../activity/activity.ts';
import { Facts } from '../components/facts.ts';
import { brief, whole } from '../components/format-number.ts';
import { Page, Section } from '../components/page.ts';
import { ErrorNote, ListEnd, Nothing, Time } from '../components/ui.ts';
import type { All } from '../hooks/use-all.ts';
import { useResponse } from '../hooks/use-reading.ts';
import { FailureTable } from '../overview/failure-tables.ts';
import { Plot } from '../overview/plot.ts';
import { hrefOf, hrefWith } from '../state/route.ts';
import { timeText } from '../state/times.ts';
import type { Failures, Key } from '../state/types.ts';
import { Kind, Reach, State } from './key-facts.ts';
import { stateOf, titleOf } from './key-labels.ts';

type Props = { id: string; of: Key | undefined; list: All<Key>; act: (key: Key) => ComponentChildren };

/** What a key allows, how its requests fare, and what was changed with it. */
export function KeyPage({ id, of: key, list, act }: Props) {
  const { body: failures, error, reload } = useResponse<Failures>('/admin/failures', 10_000);
  const changes = useActivity({ key_id: id }, 10);
  const recent = failures?.data.filter(({ key_id }) => key_id === id) ?? [];
  const hours = failures?.by_key.find(({ key_id }) => key_id === id)?.hours ?? [];
  return h(
    Page,
    {
      title: key === undefined ? `Key ${id.slice(0, 8)}` : titleOf(key),
      trail: [{ name: 'Keys', href: hrefOf('keys') }],
      meta: key && h(State, { state: stateOf(key, Date.now() / 1000) }),
      actions: key && act(key),
    },
    h(ListEnd, { list, nothing: '' }),
    key === undefined
      ? !list.isLoading && el('p.soft', 'There is no key with this id.')
      : h(KeyFacts, { of: key, hasFailed: hours.length + recent.length > 0 }),
    h(ErrorNote, { error, retry: reload }),
    failures && h(ErrorPlot, { hours }),
    recent.length > 0 && h(FailureTable, { failures: recent }),
    h(
      Section,
      { title: 'Changes with this key' },
      h(ActivityTable, { rows: changes.rows }),
      changes.hasMore
        ? h('a', { href: hrefWith(['activity'], { key_id: id }) }, 'All changes')
        : h(ListEnd, { list: changes, icon: 'activity', nothing: 'None in the audit log.' }),
    ),
  );
}

const KeyFacts = ({ of: key, hasFailed }: { of: Key; hasFailed: boolean }) =>
  el(
    'div.pair',
    h(Facts, {
      title: 'Access',
      facts: [
        ['Kind', h(Kind, { of: key })],
        ['Allows', h(Reach, { of: key })],
      ],
    }),
    h(Facts, {
      title: 'Lifetime',
      facts: [
        ['Created', h(Time, { at: key.created_at, form: 'day' })],
        [key.revoked_at === null ? 'Ends' : 'Revoked', h(Time, { at: key.revoked_at ?? key.expires_at, form: 'day' })],
        ['Last used', h(Time, { at: key.last_used_at, none: hasFailed ? 'never successfully' : 'never' })],
      ],
    }),
  );

const hoursShown = 24;
const hourSeconds = 3_600;

/** The failed requests of a key by hour, up to the current one. */
function ErrorPlot({ hours }: { hours: Failures['by_key'][number]['hours'] }) {
  const last = Math.floor(Date.now() / 1000 / hourSeconds);
  const times = Array.from({ length: hoursShown }, (_, n) => (last - hoursShown + 1 + n) * hourSeconds);
  const series = (name: string, look: number, count: 'client_errors' | 'server_errors') => ({
    ...{ name, look },
    values: times.map((time) => hours.find(({ at }) => at === time)?.[count] ?? 0),
  });
  const [rejected, failed] = [series('rejected (4xx)', 1, 'client_errors'), series('failed (5xx)', 3, 'server_errors')];
  const sum = (values: readonly number[]) => values.reduce((all, one) => all + one, 0);
  if (sum([...rejected.values, ...failed.values]) === 0)
    return el(
      'div.card',
      h(Nothing, { icon: 'check' }, 'No request with this key was rejected or failed in the last 24 hours.'),
    );
  return h(Plot, {
    title: 'Rejected and failed requests per hour',
    summary: `${whole(sum(rejected.values))} rejected, ${whole(sum(failed.values))} failed in the last 24 hours`,
    kind: 'bars',
    series: [rejected, failed],
    points: times.map((time) => timeText(time)),
    times,
    labels: times.map((time) => timeText(time, 'clock')),
    ...{ format: whole, tick: brief, isWhole: true },
  });
}
