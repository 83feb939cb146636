import { el, h } from '../../shared/dom.ts';
import { iconButton } from '../../shared/icon.ts';
import { Chip, Chips } from '../components/chips.ts';
import { DayField } from '../components/day-field.ts';
import { Page } from '../components/page.ts';
import { ErrorNote, FirstSteps, Nothing, Skeleton } from '../components/ui.ts';
import { useResponse } from '../hooks/use-reading.ts';
import { pathOf } from '../state/api.ts';
import { hrefWith, useFilters, type ViewProps } from '../state/route.ts';
import { daySeconds, daySecondsOf, dayText, timeText } from '../state/times.ts';
import type { Overview } from '../state/types.ts';
import { Health } from './health.ts';
import { isAlike, type Measure, measuresOf, valuesOf } from './measures.ts';
import { Numbers } from './numbers.ts';
import { daysOf, type Period, periodOf } from './period.ts';
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
  const { filters, hrefOfFilters } = useFilters();
  const hrefOfPlot = (plot: string) => hrefOfFilters({ plot });
  const period = periodOf(filters, Date.now() / 1000);
  const { from, to } = period;
  const { app_id } = filters;
  const path = pathOf(['admin', 'overview'], { app_id, from, to });
  const { body: overview, error, reload } = useResponse<Overview>(path);
  const measures = overview === undefined ? [] : measuresOf(overview);
  const measure = measures.find(({ id }) => id === filters.plot) ?? measures[0];
  return h(
    Page,
    {
      title: 'Overview',
      look: 'overview',
      actions: [
        h(Tabs, { tab: undefined }),
        overview && el('span.soft.small', comparedText(overview, period)),
        h(PeriodChoice, { period, reload }),
      ],
    },
    h(ErrorNote, { error, retry: reload }),
    overview === undefined || measure === undefined
      ? error === undefined && h(Skeleton, { lines: 9 })
      : [
          h(Numbers, { overview, app_id, chosen: measure.id, hrefOfPlot }),
          overview.totals.messages === 0
            ? h(Nothing, { icon: 'conversations' }, h(FirstSteps, { text: 'No messages in this period.' }))
            : [
                h(DayPlot, { overview, period, app_id, measure, hrefOfPlot }),
                h(RecentProblems, { period, app_id }),
                h(Tables, { overview, app_id }),
              ],
        ],
  );
}

function comparedText({ before, totals }: Overview, { from, to }: Period): string {
  const days = to - from === daySeconds ? 'day' : `${(to - from) / daySeconds} days`;
  const isAlone = before.messages === 0 && totals.messages > 0;
  return isAlone ? `No messages in the ${days} before` : `Compared with the ${days} before`;
}

/** Any days, once the bar has chosen dates. The period is in the address. */
function PeriodChoice({ period, reload }: { period: Period; reload: () => void }) {
  const { setFilters } = useFilters();
  const field = (label: string, seconds: number, change: (seconds: number) => { from: number; to: number }) =>
    h(DayField, {
      ...{ label, value: dayText(seconds) },
      change: (day) => setFilters({ days: undefined, ...change(daySecondsOf(day) ?? seconds) }),
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
    iconButton('refresh', 'Refresh', { onClick: reload }),
  );
}

type PlotProps = {
  overview: Overview;
  period: Period;
  app_id: string | undefined;
  measure: Measure;
  hrefOfPlot: (id: string) => string;
};

/** One measure per day, chosen by the numbers above. A bar leads to the list of its messages. */
function DayPlot({ overview, period, app_id, measure, hrefOfPlot }: PlotProps) {
  const times = daysOf(period);
  const names = times.map(dayText);
  const values = valuesOf(measure, overview.days, names);
  const { label, look, format, tick, isWhole } = measure;
  const alike = measuresOf(overview).filter(({ id }) => isAlike(id, measure.id));
  const chip = ({ id, label }: Measure) =>
    h(Chip, { key: id, label, isActive: id === measure.id, href: hrefOfPlot(id) });
  return h(
    'section',
    { class: 'stack', 'aria-labelledby': 'per-day' },
    h('h2', { id: 'per-day', class: 'hidden-label' }, 'Per day'),
    alike.length > 1 && h(Chips, { label: 'Plot' }, alike.map(chip)),
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
