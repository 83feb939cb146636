import { type ComponentChildren, h } from '../../shared/dom.ts';

type Props = { title: string; actions?: ComponentChildren; children?: ComponentChildren };

/** A view with its heading, and with controls beside it. All views have the edges and the width of `main`. */
export function Page({ title, actions, children }: Props) {
  return h(
    'div',
    { class: 'page stack' },
    h('div', { class: 'page-head row' }, h('h1', null, title), actions),
    children,
  );
}
