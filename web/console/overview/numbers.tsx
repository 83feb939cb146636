import { hrefWith, useFilters } from '../state/route.ts';
import type { Overview } from '../state/types.ts';
import { isAlike, measuresOf, runningPoint, timesOf, totalsOf, valuesOf } from './measures.ts';

type Props = {
  overview: Overview;
  app_id: string | undefined;
  /** The measure that the plot shows. */
  chosen: string;
};

/** Each chooses what the plot below shows, and its value leads to the list of the messages that it counts. */
export function Numbers({ overview, app_id, chosen }: Props) {
  const { hrefOfFilters } = useFilters();
  const measures = measuresOf(overview);
  // The running day would look like a fall.
  const times = timesOf(overview).slice(0, runningPoint(overview));
  const drawn = (id: string) => {
    const measure = measures.find((one) => one.id === id);
    return measure && times.length > 1 && <Spark values={valuesOf(measure, overview.points, times)} />;
  };
  return (
    <ul class="numbers plain tabular">
      {totalsOf(overview, app_id).map(({ name, value, exact, change, more, trend = '', plot, filters }) => (
        <li key={name} class={`card ${trend}`}>
          <a class="tile" href={hrefOfFilters({ plot })} aria-current={isAlike(plot, chosen) ? 'true' : undefined}>
            {name}
          </a>
          <b>
            <a href={hrefWith(['conversations'], filters)} title={exact} aria-label={`${value}: show the messages`}>
              {value}
            </a>
          </b>
          {change && <span class="change small">{change}</span>}
          {more && <span class="small soft">{more}</span>}
          {drawn(plot)}
        </li>
      ))}
    </ul>
  );
}

/** A number over time as a line. Screen readers get it from a plot or words beside it. */
export function Spark({ values }: { values: readonly number[] }) {
  const most = Math.max(...values) || 1;
  const place = (value: number, n: number) =>
    `${(100 * n) / Math.max(1, values.length - 1)} ${30 - (28 * value) / most}`;
  const line = `M${values.map(place).join('L')}`;
  return (
    <svg class="spark" viewBox="0 0 100 31" preserveAspectRatio="none" aria-hidden="true">
      <path class="area" d={`${line}V31H0Z`} />
      <path d={line} vector-effect="non-scaling-stroke" />
    </svg>
  );
}
