import { type ComponentChildren, el, h } from '../../shared/dom.ts';
import { useTitle } from '../hooks/use-title.ts';

type Props = {
  title: string;
  /** The part of the view that is shown, for the title in the browser. */
  part?: string | undefined;
  actions?: ComponentChildren;
  /** Another class of the view, for its style. */
  look?: string;
  children?: ComponentChildren;
};

/** A view with its heading, and with controls beside it. All views have the edges and the width of `main`. */
export function Page({ title, part, actions, look = '', children }: Props) {
  useTitle(part, title);
  return h('div', { class: `page stack ${look}`.trim() }, el('div.page-head.row', el('h1', title), actions), children);
}
