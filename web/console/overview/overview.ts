import { iconButton } from '../../shared/controls.ts';
import { el, h } from '../../shared/dom.ts';
import { Chip, Chips } from '../components/filters.ts';
import { PeriodFields } from '../components/period-fields.ts';
import { ErrorNote, FirstSteps, Nothing, Page, Skeleton } from '../components/ui.ts';
import { useResponse } from '../hooks/requests.ts';
import { pathOf } from '../state/api.ts';
import { daysOf, type Period, periodOf } from '../state/period.ts';
import { hrefWith, useFilters, type ViewProps } from '../state/route.ts';
import { daySeconds, dayText, timeText } from '../state/times.ts';
import type { Overview } from '../state/types.ts';
import { Health } from './health.ts';
import { isAlike, type Measure, measuresOf, valuesOf } from './measures.ts';
import { Numbers } from './numbers.ts';
import { Plot } from './plot.ts';
import { RecentProblems } from './recent-problems.ts';
import { Tables } from './tables.ts';

/** The start: what happened in a period, compared with the one before, and what needs a look. Another tab has the health. */
export function View({ rest: [tab] }: ViewProps) {
  return tab === 'health'
    ? h(Page, { title: 'Overview', part: 'Health', actions: h(Tabs, { tab }) }, h(Health, null))
    : h(Totals, null);
}

const Tabs = ({ tab }: { tab: string | undefined }) => {
  const { filters } = useFilters();
  const link = (label: string, ...rest: string[]) => {
    const current = rest[0] === tab ? 'page' : undefined;
    return h('a', { class: 'entry', href: hrefWith(['overview', ...rest], filters), 'aria-current': current }, label);
  };
  return h('nav', { class: 'tabs row', 'aria-label': 'Parts of the overview' }, [
    link('Usage'),
    link('Health', 'health'),
  ]);
};

function Totals() {
  const { filters, setFilters, hrefOfFilters } = useFilters();
  const hrefOfPlot = (plot: string) => hrefOfFilters({ plot });
  const period = periodOf(filters);
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
        // Any days, once the bar has chosen dates.
        period.days === undefined && h(PeriodFields, { filters, set: setFilters }),
        iconButton('refresh', 'Refresh', { onClick: reload }),
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
  return h('section', { class: 'stack', 'aria-labelledby': 'per-day' }, [
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
  ]);
}
