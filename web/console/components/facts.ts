import { type ComponentChildren, el, h } from '../../shared/dom.ts';

type Props = { title?: string; facts: readonly (readonly [title: string, value: ComponentChildren])[] };

/** Values with their names, as a card. */
export const Facts = ({ title, facts }: Props) =>
  el(
    'div.card.stack',
    title && el('h2', title),
    el(
      'dl.facts.tabular',
      facts.map(([title, value]) => h('div', { key: title }, el('dt', title), el('dd', value))),
    ),
  );
