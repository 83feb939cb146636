import { el, h } from '../../shared/dom.ts';
import { brief, money, percent, whole } from '../components/format-number.ts';
import { type FilterChange, hrefWith } from '../state/address.ts';
import { dayText } from '../state/times.ts';
import type { Overview } from '../state/types.ts';
import {
  changeText,
  currenciesOf,
  disliked,
  failed,
  isAlike,
  measuresOf,
  pointsText,
  priceIn,
  share,
  valuesOf,
} from './measures.ts';
import { daysOf } from './period.ts';

type Trend = 'better' | 'worse' | undefined;
type Total = {
  name: string;
  value: string;
  change: string;
  more?: string;
  trend?: Trend;
  /** The measure whose days are drawn, here and in the plot. */
  plot: string;
  filters: FilterChange;
};

/** The large numbers. More messages and users are better, more disliked and failed messages are worse; cost is neither. */
export function totalsOf({ totals, before, ...rest }: Overview, app_id?: string): Total[] {
  const counted = (now: number, earlier: number) => ({
    value: whole(now),
    change: changeText(now, earlier, whole),
    trend: earlier > 0 && now > earlier ? ('better' as const) : undefined,
  });
  const shared = (name: 'disliked' | 'failed') => {
    const [now, earlier] = [share(totals[name], totals.messages), share(before[name], before.messages)];
    const change = before.messages === 0 ? [] : [pointsText(now, earlier, (value) => percent(value, 100))];
    return {
      value: percent(now, 100),
      change:
        totals.messages === 0 ? '' : [`${whole(totals[name])} of ${whole(totals.messages)}`, ...change].join('; '),
      trend:
        before.messages === 0 || now === earlier ? undefined : now > earlier ? ('worse' as const) : ('better' as const),
      plot: name,
    };
  };
  const prices = currenciesOf({ totals, before }).map((currency) => {
    const [now, earlier] = [priceIn(totals, currency), priceIn(before, currency)];
    const format = (value: number) => money(value, currency);
    return { value: format(now), change: changeText(now, earlier, format), plot: `cost ${currency}` };
  });
  const [cost = { value: '–', change: 'no prices', plot: '' }, ...others] = prices;
  const hiddenCount = totals.prices.length - prices.length;
  const more = [
    ...others.map(({ value }) => `+ ${value}`),
    ...(hiddenCount > 0 ? [`and ${whole(hiddenCount)} more currencies`] : []),
  ].join(' ');
  const period = { app_id, from: rest.from, to: rest.to };
  return [
    { name: 'Messages', plot: 'messages', ...counted(totals.messages, before.messages), filters: period },
    { name: 'Cost', ...cost, more, filters: period },
    {
      ...{ name: 'Users', plot: 'users', ...counted(totals.users, before.users) },
      ...{ more: perUser(totals), filters: period },
    },
    { name: 'Tokens', plot: 'tokens', ...counted(totals.tokens, before.tokens), trend: undefined, filters: period },
    { name: 'Disliked', ...shared('disliked'), filters: { ...disliked, ...period } },
    { name: 'Failed', ...shared('failed'), filters: { ...failed, ...period } },
  ];
}

const perUser = ({ messages, users }: Overview['totals']): string =>
  users === 0 ? '' : `${brief(messages / users)} messages each`;

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
  const names = daysOf({ ...overview, days: undefined }).map(dayText);
  const drawn = (id: string) => {
    const measure = measures.find((one) => one.id === id);
    return measure && h(Spark, { values: valuesOf(measure, overview.days, names) });
  };
  return el(
    'ul.numbers.plain.tabular',
    totalsOf(overview, app_id).map(({ name, value, change, more, trend = '', plot, filters }) =>
      h(
        'li',
        { key: name, class: `card ${trend}` },
        h(
          'a',
          { class: 'tile', href: hrefOfPlot(plot), 'aria-current': isAlike(plot, chosen) ? 'true' : undefined },
          name,
        ),
        el(
          'b',
          h('a', { href: hrefWith(['conversations'], filters), 'aria-label': `${value}: show the messages` }, value),
        ),
        change && el('span.change', change),
        more && el('span.change.soft', more),
        drawn(plot),
      ),
    ),
  );
}

/** The days of a number as a line. Screen readers get them from the plot below. */
function Spark({ values }: { values: readonly number[] }) {
  const most = Math.max(...values) || 1;
  const place = (value: number, n: number) =>
    `${(100 * n) / Math.max(1, values.length - 1)} ${30 - (28 * value) / most}`;
  const line = `M${values.map(place).join('L')}`;
  return h(
    'svg',
    { class: 'spark', viewBox: '0 0 100 31', preserveAspectRatio: 'none', 'aria-hidden': 'true' },
    h('path', { class: 'area', d: `${line}V31H0Z` }),
    h('path', { d: line, 'vector-effect': 'non-scaling-stroke' }),
  );
}
