import { h, useMemo, useState } from '../../shared/dom.ts';
import { brief, millis, money, whole } from '../parts/figures.ts';
import { locale } from '../parts/locale.ts';
import { limits } from '../parts/server-rules.ts';
import type { Traffic, Usage } from '../parts/types.ts';
import { ErrorNote } from '../parts/ui.ts';
import { useAll } from '../parts/use-all.ts';
import { useTitle } from '../parts/use-title.ts';
import { Plot } from './plot.ts';
import { trafficPlots, trafficSummary } from './traffic.ts';
import {
  currenciesOf,
  currenciesShown,
  dayBefore,
  daysUntil,
  type UsagePlot,
  usagePlots,
  usageSummary,
} from './usage.ts';
import { useTraffic } from './use-traffic.ts';

/** The requests of the last hour, and the usage of the last weeks. */
export function PulseView() {
  useTitle('Pulse');
  return h('div', { class: 'stack' }, h('h1', null, 'Pulse'), h(LastHour, null), h(LastDays, null));
}

/** The name of the local time zone, as in `GMT+1`. */
const zone =
  new Intl.DateTimeFormat(locale, { timeZoneName: 'short' }).formatToParts().find(({ type }) => type === 'timeZoneName')
    ?.value ?? '';
const clock = new Intl.DateTimeFormat(locale, { timeStyle: 'medium' });
const shortClock = new Intl.DateTimeFormat(locale, { timeStyle: 'short' });

function LastHour() {
  const { traffic, error, refresh } = useTraffic();
  return h(
    'section',
    { class: 'stack', 'aria-labelledby': 'last-hour' },
    h(
      'div',
      { class: 'row' },
      h('h2', { id: 'last-hour' }, 'The last hour'),
      h('span', { class: 'soft' }, `requests to this instance, refreshed every 10 seconds; times in ${zone}`),
    ),
    h(ErrorNote, { error, retry: refresh }),
    traffic === undefined
      ? error === undefined && h('p', { class: 'soft', role: 'status' }, 'Loading…')
      : h(TrafficPlots, { traffic }),
  );
}

function TrafficPlots({ traffic }: { traffic: Traffic }) {
  const { at, isEmpty, requests, latency, errors } = trafficPlots(traffic);
  if (isEmpty)
    return h('p', { class: 'card soft' }, 'No requests in the last hour. Requests of this console are not counted.');
  const summaries = trafficSummary(traffic);
  const points = at.map((seconds) => clock.format(seconds * 1000));
  const labels = at.map((seconds) => shortClock.format(seconds * 1000));
  const common = { points, times: at, labels };
  return h(
    'div',
    { class: 'plots' },
    h(Plot, {
      ...common,
      title: 'Requests per second',
      summary: summaries.requests,
      kind: 'bars',
      series: requests,
      format: brief,
      tick: brief,
    }),
    h(Plot, {
      ...common,
      title: 'Latency',
      summary: summaries.latency,
      kind: 'lines',
      series: latency,
      format: millis,
      tick: millis,
    }),
    h(Plot, {
      ...common,
      title: 'Errors',
      summary: summaries.errors,
      kind: 'bars',
      series: errors,
      format: whole,
      tick: brief,
      isWhole: true,
    }),
  );
}

const ranges = [30, 90];

function LastDays() {
  const [days, setDays] = useState(30);
  const since = dayBefore(Date.now(), days - 1);
  const { rows, error, reload } = useAll<Usage>(`/admin/usage?since=${since}`, limits.usageRowsMax);
  return h(
    'section',
    { class: 'stack', 'aria-labelledby': 'last-days' },
    h(
      'div',
      { class: 'row' },
      h('h2', { id: 'last-days' }, 'Usage by app'),
      h(
        'label',
        { class: 'row' },
        h('span', { class: 'hidden-label' }, 'Days'),
        h(
          'select',
          { value: days, onChange: (event: Event) => setDays(Number((event.target as HTMLSelectElement).value)) },
          ranges.map((range) => h('option', { value: range }, `Last ${range} days`)),
        ),
      ),
      h('button', { type: 'button', class: 'quiet', onClick: reload }, 'Refresh'),
      h('span', { class: 'soft' }, 'days start at midnight UTC'),
    ),
    h(ErrorNote, { error, retry: reload }),
    rows === undefined
      ? error === undefined && h('p', { class: 'soft', role: 'status' }, 'Loading…')
      : h(UsagePlots, { uses: rows, days }),
  );
}

function UsagePlots({ uses, days }: { uses: readonly Usage[]; days: number }) {
  const points = useMemo(() => daysUntil(Date.now(), days), [uses, days]);
  const plots = useMemo(() => usagePlots(uses, points), [uses, points]);
  if (plots[0]?.series.length === 0) return h('p', { class: 'card soft' }, `No messages in the last ${days} days.`);
  const shown = plots.filter(({ series }) => series.length > 0);
  const hiddenCount = currenciesOf(uses).length - currenciesShown;
  return [
    h(
      'div',
      { class: 'plots' },
      shown.map((plot) => h(UsagePlotView, { key: `${plot.what} ${plot.currency}`, plot, points })),
    ),
    hiddenCount > 0 &&
      h('p', { class: 'soft' }, `Cost in other currencies, with fewer messages: ${whole(hiddenCount)} not shown.`),
  ];
}

const titles = { messages: 'Messages per day', tokens: 'Tokens per day', cost: 'Cost per day' };
const shortDay = new Intl.DateTimeFormat(locale, { day: 'numeric', month: 'short', timeZone: 'UTC' });

function UsagePlotView({ plot, points }: { plot: UsagePlot; points: readonly string[] }) {
  const { what, currency, series } = plot;
  const format = currency === null ? whole : (value: number) => money(value, currency);
  return h(Plot, {
    title: currency === null ? titles[what] : `${titles[what]}, ${currency}`,
    summary: usageSummary(plot, format, points.length),
    kind: 'bars',
    series,
    points,
    times: points.map((day) => Date.parse(day) / 1000),
    labels: points.map((day) => shortDay.format(Date.parse(day))),
    format,
    tick: brief,
    isWhole: currency === null,
  });
}
