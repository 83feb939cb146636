import { type ComponentChildren, el, h, useEffect, useId, useRef } from '../../shared/dom.ts';
import { useTitle } from '../hooks/use-title.ts';

export type Crumb = { name: string; href: string };

type Props = {
  title: string;
  /** The part of the view that is shown, for the title in the browser. */
  part?: string | undefined;
  /** The levels above this one. The heading then gets the focus if the link that led to the page is gone. */
  trail?: readonly Crumb[] | undefined;
  /** The size or the state of what is shown, beside the heading. */
  meta?: ComponentChildren;
  actions?: ComponentChildren;
  /** Another class of the view, for its style. */
  look?: string;
  children?: ComponentChildren;
};

/** A view with its one header: the way back, the heading, and the controls. All views have the edges and the width of `main`. */
export function Page({ title, part, trail, meta, actions, look = '', children }: Props) {
  useTitle(part, title, trail?.[0]?.name);
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    if (trail && document.activeElement === document.body) heading.current?.focus({ preventScroll: true });
  }, []);
  return h(
    'div',
    { class: `page stack ${look}`.trim() },
    el(
      'header.page-head.row',
      trail !== undefined &&
        trail.length > 0 &&
        h(
          'nav',
          { 'aria-label': 'Breadcrumbs', class: 'trail' },
          el(
            'ol.plain.row',
            trail.map(({ name, href }) => h('li', { key: href }, h('a', { href }, name))),
          ),
        ),
      el('div.row', h('h1', { ref: heading, tabIndex: trail && -1 }, title), meta && el('span.soft.tabular', meta)),
      actions,
    ),
    children,
  );
}

/** A part of a page with its heading, and what is beside the heading. */
export function Section({ title, meta, children }: Pick<Props, 'title' | 'meta' | 'children'>) {
  const id = useId();
  return h(
    'section',
    { class: 'stack', 'aria-labelledby': id },
    el('div.row', h('h2', { id }, title), meta && el('span.soft.tabular', meta)),
    children,
  );
}
