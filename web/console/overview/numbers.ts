import { h } from '../../shared/dom.ts';
import { type FilterChange, hrefWith } from '../parts/address.ts';
import { money, percent, whole } from '../parts/figures.ts';
import type { Overview } from '../parts/types.ts';
import { changeText, currenciesOf, disliked, failed, pointsText, priceIn, share } from './measures.ts';

type Value = { value: string; change: string; isWorse?: boolean };
type Figure = { name: string; values: readonly Value[]; filters: FilterChange };

/** The large numbers. Only disliked and failed messages can get worse. */
export function figuresOf({ totals, before, ...rest }: Overview): Figure[] {
  const counted = (now: number, earlier: number): Value => ({
    value: whole(now),
    change: changeText(now, earlier, whole),
  });
  const shared = (name: 'disliked' | 'failed'): Value => {
    const [now, earlier] = [share(totals[name], totals.messages), share(before[name], before.messages)];
    const change = before.messages === 0 ? 'none before' : pointsText(now, earlier, (value) => percent(value, 100));
    return {
      value: percent(now, 100),
      change: totals.messages === 0 ? '' : `${whole(totals[name])} of ${whole(totals.messages)}; ${change}`,
      isWorse: before.messages > 0 && now > earlier,
    };
  };
  const costs = currenciesOf({ totals, before }).map((currency): Value => {
    const [now, earlier] = [priceIn(totals, currency), priceIn(before, currency)];
    const format = (value: number) => money(value, currency);
    return { value: format(now), change: changeText(now, earlier, format) };
  });
  const hiddenCount = totals.prices.length - costs.length;
  if (hiddenCount > 0) costs.push({ value: '', change: `and ${whole(hiddenCount)} more currencies` });
  const period = { from: rest.from, to: rest.to };
  return [
    { name: 'Messages', values: [counted(totals.messages, before.messages)], filters: period },
    { name: 'Cost', values: costs.length > 0 ? costs : [{ value: '–', change: 'no prices' }], filters: period },
    { name: 'Users', values: [counted(totals.users, before.users)], filters: period },
    { name: 'Disliked', values: [shared('disliked')], filters: { ...disliked, ...period } },
    { name: 'Failed', values: [shared('failed')], filters: { ...failed, ...period } },
  ];
}

/** Each leads to the list of the messages that it counts. */
export const Numbers = ({ overview }: { overview: Overview }) =>
  h(
    'ul',
    { class: 'numbers plain' },
    figuresOf(overview).map(({ name, values, filters }) =>
      h(
        'li',
        { key: name },
        h(
          'a',
          { class: 'card', href: hrefWith(['conversations'], filters) },
          h('span', { class: 'soft' }, name),
          values.map(({ value, change, isWorse }) => [
            h('b', null, value),
            h('span', { class: isWorse ? 'change worse' : 'change soft' }, change),
          ]),
        ),
      ),
    ),
  );
