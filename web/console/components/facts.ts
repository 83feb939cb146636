import { type ComponentChildren, el, h } from '../../shared/dom.ts';

/** Values with their names, as a card. */
export const Facts = ({ facts }: { facts: readonly (readonly [title: string, value: ComponentChildren])[] }) =>
  el(
    'dl.facts.card.tabular',
    facts.map(([title, value]) => h('div', { key: title }, el('dt', title), el('dd', value))),
  );
