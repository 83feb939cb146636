import { h } from '../../shared/dom.ts';
import { money, percent, whole } from '../components/format-number.ts';
import { type FilterChange, hrefWith } from '../state/address.ts';
import type { Overview } from '../state/types.ts';
import { changeText, currenciesOf, disliked, failed, pointsText, priceIn, share } from './measures.ts';

type Total = { name: string; value: string; change: string; more?: string; isWorse?: boolean; filters: FilterChange };

/** The large numbers. Only disliked and failed messages can get worse. */
export function totalsOf({ totals, before, ...rest }: Overview): Total[] {
  const counted = (now: number, earlier: number) => ({ value: whole(now), change: changeText(now, earlier, whole) });
  const shared = (name: 'disliked' | 'failed') => {
    const [now, earlier] = [share(totals[name], totals.messages), share(before[name], before.messages)];
    const change = before.messages === 0 ? 'no data before' : pointsText(now, earlier, (value) => percent(value, 100));
    return {
      value: percent(now, 100),
      change: totals.messages === 0 ? '' : `${whole(totals[name])} of ${whole(totals.messages)}; ${change}`,
      isWorse: before.messages > 0 && now > earlier,
    };
  };
  const prices = currenciesOf({ totals, before }).map((currency) => {
    const [now, earlier] = [priceIn(totals, currency), priceIn(before, currency)];
    const format = (value: number) => money(value, currency);
    return { value: format(now), change: changeText(now, earlier, format) };
  });
  const [cost = { value: '–', change: 'no prices' }, ...others] = prices;
  const hiddenCount = totals.prices.length - prices.length;
  const more = [
    ...others.map(({ value }) => `+ ${value}`),
    ...(hiddenCount > 0 ? [`and ${whole(hiddenCount)} more currencies`] : []),
  ].join(' ');
  const period = { from: rest.from, to: rest.to };
  return [
    { name: 'Messages', ...counted(totals.messages, before.messages), filters: period },
    { name: 'Cost', ...cost, more, filters: period },
    { name: 'Users', ...counted(totals.users, before.users), filters: period },
    { name: 'Disliked', ...shared('disliked'), filters: { ...disliked, ...period } },
    { name: 'Failed', ...shared('failed'), filters: { ...failed, ...period } },
  ];
}

/** Each leads to the list of the messages that it counts. */
export const Numbers = ({ overview }: { overview: Overview }) =>
  h(
    'ul',
    { class: 'numbers plain' },
    totalsOf(overview).map(({ name, value, change, more, isWorse, filters }) =>
      h(
        'li',
        { key: name },
        h(
          'a',
          { class: 'card', href: hrefWith(['conversations'], filters) },
          h('span', { class: 'soft' }, name),
          h('b', null, value),
          h('span', { class: isWorse ? 'change worse' : 'change soft' }, change),
          more && h('span', { class: 'change soft' }, more),
        ),
      ),
    ),
  );
