import { button, el, h } from '../../shared/dom.ts';
import { Icon } from '../../shared/icon.ts';
import { Chip, Chips } from '../components/chips.ts';
import { Page } from '../components/page.ts';
import { ErrorNote, FirstSteps, Nothing, Skeleton } from '../components/ui.ts';
import { useResponse } from '../hooks/use-reading.ts';
import { pathOf } from '../state/api.ts';
import { hrefWith, useFilters, type ViewProps } from '../state/route.ts';
import { timeText } from '../state/times.ts';
import type { Overview } from '../state/types.ts';
import { Health } from './health.ts';
import { type Measure, measuresOf, valuesOf } from './measures.ts';
import { Numbers } from './numbers.ts';
import { daySeconds, daySecondsOf, daysOf, dayText, type Period, periodOf } from './period.ts';
import { Plot } from './plot.ts';
import { RecentProblems } from './recent-problems.ts';
import { Tables } from './tables.ts';

/** The start: what happened in a period, compared with the one before, and what needs a look. Another tab has the health. */
export function OverviewView({ rest: [tab] }: ViewProps) {
  return tab === 'health'
    ? h(Page, { title: 'Overview', part: 'Health', actions: h(Tabs, { tab }) }, h(Health, null))
    : h(Totals, null);
}

const Tabs = ({ tab }: { tab: string | undefined }) => {
  const { filters } = useFilters();
  const link = (label: string, ...rest: string[]) =>
    h(
      'a',
      { href: hrefWith(['overview', ...rest], filters), 'aria-current': rest[0] === tab ? 'page' : undefined },
      label,
    );
  return h(
    'nav',
    { class: 'tabs row', 'aria-label': 'Parts of the overview' },
    link('Usage'),
    link('Health', 'health'),
  );
};

function Totals() {
  const { filters } = useFilters();
  const period = periodOf(filters, Date.now() / 1000);
  const { from, to } = period;
  const { app_id } = filters;
  const path = pathOf(['admin', 'overview'], { app_id, from, to });
  const { body: overview, error, reload } = useResponse<Overview>(path);
  return h(
    Page,
    {
      title: 'Overview',
      look: 'overview',
      actions: [
        h(Tabs, { tab: undefined }),
        el('span.soft.small', `Compared with the ${daysText(period)} before.`),
        h(PeriodChoice, { period, reload }),
      ],
    },
    h(ErrorNote, { error, retry: reload }),
    overview === undefined
      ? error === undefined && h(Skeleton, { lines: 9 })
      : [
          h(Numbers, { overview, app_id }),
          overview.totals.messages === 0
            ? h(Nothing, { icon: 'conversations' }, h(FirstSteps, { text: 'No messages in this period.' }))
            : [
                h(DayPlot, { overview, period, app_id }),
                h(RecentProblems, { period, app_id }),
                h(Tables, { overview, app_id }),
              ],
        ],
  );
}

const daysText = ({ from, to }: Period): string =>
  to - from === daySeconds ? 'day' : `${(to - from) / daySeconds} days`;

/** Any days, once the bar has chosen dates. The period is in the address. */
function PeriodChoice({ period, reload }: { period: Period; reload: () => void }) {
  const { setFilters } = useFilters();
  const field = (label: string, seconds: number, change: (seconds: number) => { from: number; to: number }) =>
    h('input', {
      type: 'date',
      'aria-label': label,
      value: dayText(seconds),
      onChange: (event: Event) => {
        const day = daySecondsOf((event.target as HTMLInputElement).value);
        if (day !== undefined) setFilters({ days: undefined, ...change(day) });
      },
    });
  const { from, to } = period;
  return el(
    'div.row',
    period.days === undefined &&
      el(
        'div.row.dates',
        field('From', from, (day) => ({ from: day, to: Math.max(to, day + daySeconds) })),
        'to',
        field('To', to - daySeconds, (day) => ({ from: Math.min(from, day), to: day + daySeconds })),
      ),
    button(
      { class: 'quiet icon-only', title: 'Refresh', onClick: reload },
      h(Icon, { name: 'refresh' }),
      el('span.hidden-label', 'Refresh'),
    ),
  );
}

/** One measure per day, chosen by tabs. A bar leads to the list of its messages. */
function DayPlot({ overview, period, app_id }: { overview: Overview; period: Period; app_id: string | undefined }) {
  const { filters, hrefOfFilters } = useFilters();
  const measures = measuresOf(overview);
  const measure = measures.find(({ id }) => id === filters.plot) ?? (measures[0] as Measure);
  const times = daysOf(period);
  const names = times.map(dayText);
  const values = valuesOf(measure, overview.days, names);
  const { label, look, format, tick, isWhole } = measure;
  return h(
    'section',
    { class: 'stack', 'aria-labelledby': 'per-day' },
    h('h2', { id: 'per-day', class: 'hidden-label' }, 'Per day'),
    h(
      Chips,
      { label: 'Plot' },
      measures.map(({ id, label }) =>
        h(Chip, { label, isActive: id === measure.id, href: hrefOfFilters({ plot: id }) }),
      ),
    ),
    h(Plot, {
      title: `${label} per day`,
      summary: `${format(measure.value(overview.totals))} in this period, at most ${format(Math.max(0, ...values))} a day; a bar leads to its messages`,
      hidesSummary: true,
      kind: 'bars',
      series: [{ name: label, look, values }],
      points: names,
      times,
      labels: times.map((time) => timeText(time, 'shortDay')),
      ...{ format, tick, isWhole },
      hrefAt: (point) => {
        const from = times[point] ?? period.from;
        return hrefWith(['conversations'], { app_id, ...measure.filters, from, to: from + daySeconds });
      },
    }),
  );
}
