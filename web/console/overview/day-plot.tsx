import { Chip, Chips } from '../components/filters.tsx';
import { brief } from '../components/format-number.ts';
import { type FilterChange, hrefWith } from '../state/address.ts';
import { useFilters } from '../state/route.ts';
import { daySeconds, timeText, zone } from '../state/times.ts';
import type { Overview } from '../state/types.ts';
import { isAlike, isSum, type Measure, measuresOf, runningPoint, timesOf, valuesOf } from './measures.ts';
import { partsOf, seriesBy, soFarText } from './parts.ts';
import { Plot } from './plot.tsx';
import type { Series } from './series.ts';

/** `16 Nov` at midnight, else the hour. */
function hourText(time: number): string {
  const clock = timeText(time, 'clock');
  return clock === '00:00' ? timeText(time, 'dayOfYear') : clock;
}

type Props = {
  overview: Overview;
  app_id: string | undefined;
  measure: Measure;
};

/**
 * One measure per day or hour, chosen by the numbers above, with the period before as a line. What is added up is stacked by
 * app or model. A bar leads to the list of its messages.
 */
export function DayPlot({ overview, app_id, measure }: Props) {
  const { filters, hrefOfFilters } = useFilters();
  const { from, to, step_seconds, points, points_before, before, totals } = overview;
  const by = seriesBy(filters.by);
  const isDaily = step_seconds === daySeconds;
  const times = timesOf(overview);
  const values = valuesOf(measure, points, times);
  const { id, label, look, part, format } = measure;
  const parts = isSum(measure) ? partsOf(overview, by) : [];
  const isStacked = parts.length > 1;
  const series: Series[] = isStacked
    ? parts.map(({ name, look, points }) => ({ name, look, values: valuesOf(measure, points, times) }))
    : [{ name: label, look, values }];
  const earlier = times.map((time) => time - (to - from));
  const hasBefore = id !== 'users' && before.messages > 0;
  const alike = measuresOf(overview).filter((one) => isAlike(one.id, id));
  const chip = (change: FilterChange, label: string, isActive: boolean) => (
    <Chip key={label} label={label} isActive={isActive} href={hrefOfFilters(change)} />
  );
  return (
    <section class="stack" aria-label="Plot">
      <div class="row">
        {alike.length > 1 && (
          <Chips label="Plot">{alike.map(({ id: plot, label }) => chip({ plot }, label, plot === id))}</Chips>
        )}
        {isSum(measure) && app_id === undefined && (
          <Chips label="Stacked by">
            {chip({ by: '' }, 'By model', by === 'model')}
            {chip({ by: 'app' }, 'By app', by === 'app')}
          </Chips>
        )}
      </div>
      <Plot
        title={`${label} per ${isDaily ? `day${zone === 'UTC' ? '' : ' in UTC'}` : 'hour'}`}
        summary={`${format(measure.value(totals))} in this period, at most ${format(Math.max(0, ...values))} ${isDaily ? 'a day' : 'an hour'}; a bar leads to its messages`}
        hidesSummary
        note={soFarText(measure, overview)}
        kind="bars"
        series={series}
        before={hasBefore ? valuesOf(measure, points_before, earlier) : undefined}
        running={runningPoint(overview)}
        points={times.map((time) => timeText(time, isDaily ? 'shortDay' : 'time'))}
        times={times}
        labels={times.map((time) => (isDaily ? timeText(time, 'shortDay') : hourText(time)))}
        format={format}
        tick={part === undefined ? brief : format}
        hrefAt={(point, part) => {
          const from = times[point] ?? overview.from;
          const only = part === undefined || !isStacked ? {} : parts[part]?.filters;
          return hrefWith(['conversations'], { app_id, ...measure.filters, ...only, from, to: from + step_seconds });
        }}
      />
    </section>
  );
}
