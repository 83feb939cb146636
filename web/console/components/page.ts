import { type ComponentChildren, h } from '../../shared/dom.ts';
import { useTitle } from '../hooks/use-title.ts';

type Props = {
  title: string;
  /** The part of the view that is shown, for the title in the browser. */
  part?: string | undefined;
  actions?: ComponentChildren;
  children?: ComponentChildren;
};

/** A view with its heading, and with controls beside it. All views have the edges and the width of `main`. */
export function Page({ title, part, actions, children }: Props) {
  useTitle(part, title);
  return h(
    'div',
    { class: 'page stack' },
    h('div', { class: 'page-head row' }, h('h1', null, title), actions),
    children,
  );
}
