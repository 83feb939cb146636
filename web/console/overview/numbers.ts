import { el, h } from '../../shared/dom.ts';
import { whole } from '../components/format-number.ts';
import { hrefWith } from '../state/address.ts';
import { daysOf } from '../state/period.ts';
import { dayText } from '../state/times.ts';
import type { Overview } from '../state/types.ts';
import { changeText, isAlike, measuresOf, partsText, trendOf, valuesOf } from './measures.ts';

/** The large numbers: one for each measure, whose days are drawn, and one for the costs in all currencies. */
export function totalsOf(overview: Overview, app_id?: string) {
  const { totals, from, to } = overview;
  const period = { app_id, from, to };
  const all = measuresOf(overview).map((measure) => ({
    name: measure.label,
    value: measure.format(measure.value(totals)),
    change: changeText(measure, overview),
    more: partsText(measure, overview),
    trend: trendOf(measure, overview),
    plot: measure.id,
    filters: { ...measure.filters, ...period },
  }));
  const costs = all.filter(({ plot }) => isAlike(plot, 'cost'));
  const [cost = { value: '–', change: 'no prices', plot: '', filters: period }, ...otherCosts] = costs;
  const hiddenCount = totals.prices.length - costs.length;
  const more = [
    ...otherCosts.map(({ value }) => `+ ${value}`),
    ...(hiddenCount > 0 ? [`and ${whole(hiddenCount)} more currencies`] : []),
  ].join(' ');
  return all.filter((one) => !costs.includes(one)).toSpliced(1, 0, { trend: undefined, ...cost, name: 'Cost', more });
}

type Props = {
  overview: Overview;
  app_id: string | undefined;
  /** The measure that the plot shows, and the address that shows another. */
  chosen: string;
  hrefOfPlot: (id: string) => string;
};

/** Each chooses what the plot below shows, and its value leads to the list of the messages that it counts. */
export function Numbers({ overview, app_id, chosen, hrefOfPlot }: Props) {
  const measures = measuresOf(overview);
  const names = daysOf(overview).map(dayText);
  const drawn = (id: string) => {
    const measure = measures.find((one) => one.id === id);
    return measure && h(Spark, { values: valuesOf(measure, overview.days, names) });
  };
  return el('ul.numbers.plain.tabular', [
    totalsOf(overview, app_id).map(({ name, value, change, more, trend = '', plot, filters }) =>
      h('li', { key: name, class: `card ${trend}` }, [
        h('a', { class: 'tile', href: hrefOfPlot(plot), 'aria-current': isAlike(plot, chosen) ? 'true' : undefined }, [
          name,
        ]),
        el('b', [
          h('a', { href: hrefWith(['conversations'], filters), 'aria-label': `${value}: show the messages` }, value),
        ]),
        change && el('span.change.small', change),
        more && el('span.small.soft', more),
        drawn(plot),
      ]),
    ),
  ]);
}

/** The days of a number as a line. Screen readers get them from the plot below. */
function Spark({ values }: { values: readonly number[] }) {
  const most = Math.max(...values) || 1;
  const place = (value: number, n: number) =>
    `${(100 * n) / Math.max(1, values.length - 1)} ${30 - (28 * value) / most}`;
  const line = `M${values.map(place).join('L')}`;
  return h('svg', { class: 'spark', viewBox: '0 0 100 31', preserveAspectRatio: 'none', 'aria-hidden': 'true' }, [
    h('path', { class: 'area', d: `${line}V31H0Z` }),
    h('path', { d: line, 'vector-effect': 'non-scaling-stroke' }),
  ]);
}
