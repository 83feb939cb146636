import { CopyButton, Icon, type IconName, iconButton } from '../../shared/controls.ts';
import { button, type ComponentChildren, el, h, useEffect, useId, useRef } from '../../shared/dom.ts';
import type { All } from '../hooks/requests.ts';
import type { ApiError } from '../state/api.ts';
import { briefText, relativeText, type TimeForm, timeText, zone } from '../state/times.ts';

/* Small components that all views use. */

export * from './format-number.ts';
export { whole as count } from './format-number.ts';

type ErrorProps = { error: Error | ApiError | undefined; retry?: (() => void) | undefined; label?: string };

export function ErrorNote({ error, retry, label = 'Try again' }: ErrorProps) {
  if (error === undefined) return null;
  return h('div', { class: 'note bad row error-note', role: 'alert' }, [
    h(Icon, { name: 'failed' }),
    el('p', error.message),
    'requestId' in error && error.requestId !== null && el('code.soft', `request ${error.requestId}`),
    retry && button({ onClick: retry }, label),
  ]);
}

/** The shape of what is being loaded. */
export const Skeleton = ({ lines = 6 }: { lines?: number | undefined }) =>
  h('div', { class: 'skeletons', role: 'status' }, [
    el('span.hidden-label', 'Loading…'),
    Array.from({ length: lines }, (_, n) => h('span', { key: n, class: 'skeleton' })),
  ]);

/** An empty place: what would be here, and the action that fills it. */
export const Nothing = ({ icon, children }: { icon?: IconName | undefined; children?: ComponentChildren }) =>
  el('div.nothing', icon && h(Icon, { name: icon }), el('p', children));

type ListEndProps = { list: All<unknown>; nothing: ComponentChildren; icon?: IconName; lines?: number };

/** The end of a list: that it loads, an error, a button for more rows, or that it is empty. */
export function ListEnd({ list, nothing, icon, lines }: ListEndProps) {
  if (list.error !== undefined)
    return h(ErrorNote, { error: list.error, retry: list.rows.length > 0 ? list.more : list.reload });
  if (list.isLoading) return h(Skeleton, { lines: list.rows.length > 0 ? 1 : lines });
  if (list.rows.length === 0) return h(Nothing, { icon }, nothing);
  return list.hasMore ? button({ class: 'more', onClick: list.more }, 'Show more') : null;
}

/** For pages that are empty at first. */
export const FirstSteps = ({ text }: { text?: string }) => [text, ' ', h('a', { href: '#/start' }, 'First steps')];

/** A time in seconds since 1970. The tooltip names the zone and says how long ago that is. */
export function Time({ at, none = 'Never', form }: { at: number | null; none?: string; form?: TimeForm | 'brief' }) {
  if (at === null) return el('span.soft', none);
  const date = new Date(at * 1000);
  if (Number.isNaN(date.getTime())) return h('span', { title: 'seconds since 1970' }, timeText(at));
  const text = timeText(at);
  return h('time', { dateTime: date.toISOString(), title: `${text} ${zone} (${relativeText(at)})` }, [
    form === 'brief' ? briefText(at) : timeText(at, form),
  ]);
}

/** Parts in one line, with dots between them; none is at the edge of a line. */
export const Dots = ({ parts }: { parts: readonly ComponentChildren[] }) =>
  el('span.dots', [parts.filter(Boolean).map((part) => el('span', part))]);

/** An id, as much of it as has room, and a button that copies it. */
export const Id = ({ id, text = id }: { id: string; text?: string }) =>
  el('span.id', [
    h('code', { class: 'one-line', title: id }, text),
    h(CopyButton, { text: id, label: `Copy ${id.slice(0, 8)}`, icon: 'copy' }),
  ]);

type DialogProps = { title: string; close: () => void; mustConfirm?: boolean; children?: ComponentChildren };

/**
 * A modal dialog, open while it is mounted. Escape closes it, unless `mustConfirm` leaves only its own buttons. After it
 * the focus returns to the element that had it before.
 */
export function Dialog({ title, close, mustConfirm = false, children }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const before = document.activeElement;
    element.current?.showModal();
    // It runs after the dialog is gone: by then the user may have pressed something else.
    return () => document.activeElement === document.body && before instanceof HTMLElement && before.focus();
  }, []);
  return h(
    'dialog',
    {
      ref: element,
      'aria-labelledby': id,
      onClose: close,
      onCancel: (event: Event) => mustConfirm && event.preventDefault(),
      // A browser may let a second Escape pass although the first was cancelled.
      closedby: mustConfirm ? 'none' : undefined,
    },
    el('div.stack', h('h2', { id }, title), children),
    // Behind the content: the first field gets the focus.
    !mustConfirm && iconButton('close', 'Close', { class: 'quiet icon-only leave', onClick: close }),
  );
}

/** Sets the title of the page: what is shown, from the most specific name to the name of the view. */
export function useTitle(...names: (string | undefined)[]): void {
  const title = [...names.filter(Boolean), 'Backscroll'].join(' · ');
  useEffect(() => {
    document.title = title;
  }, [title]);
}

export type Crumb = { name: string; href: string };

type PageProps = {
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
export function Page({ title, part, trail, meta, actions, look = '', children }: PageProps) {
  useTitle(part, title, trail?.[0]?.name);
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    if (trail && document.activeElement === document.body) heading.current?.focus({ preventScroll: true });
  }, []);
  return h('div', { class: `page stack ${look}`.trim() }, [
    el('header.page-head.row', [
      trail !== undefined &&
        trail.length > 0 &&
        h('nav', { 'aria-label': 'Breadcrumbs', class: 'trail soft small whole-row' }, [
          el('ol.plain.row', [trail.map(({ name, href }) => h('li', { key: href }, h('a', { href }, name)))]),
        ]),
      el('div.row', h('h1', { ref: heading, tabIndex: trail && -1 }, title), meta && el('span.soft.tabular', meta)),
      actions,
    ]),
    children,
  ]);
}

/** A part of a page with its heading, and what is beside the heading. */
export function Section({ title, meta, children }: Pick<PageProps, 'title' | 'meta' | 'children'>) {
  const id = useId();
  return h('section', { class: 'stack', 'aria-labelledby': id }, [
    el('div.row', h('h2', { id }, title), meta && el('span.soft.tabular', meta)),
    children,
  ]);
}

type FactsProps = { facts: readonly (readonly [title: string, value: ComponentChildren])[] };

/** Values with their names, as a card. */
export const Facts = ({ facts }: FactsProps) =>
  el('dl.card.facts.tabular', [
    facts.map(([title, value]) => h('div', { key: title }, el('dt.small', title), el('dd', value))),
  ]);
