import { button, type ComponentChildren, el, h, useEffect, useId, useRef, useState } from '../../shared/dom.ts';
import { Icon, type IconName } from '../../shared/icon.ts';
import type { All } from '../hooks/use-all.ts';
import { briefForm, relativeText, type TimeForm, timeText, zone } from '../state/times.ts';
import { ErrorNote } from './error-note.ts';

/* Small components that all views use. */

export { counted, whole as count } from './format-number.ts';
export { ErrorNote };

/** The shape of what is being loaded. */
export const Skeleton = ({ lines = 6 }: { lines?: number | undefined }) =>
  h(
    'div',
    { class: 'skeletons', role: 'status' },
    el('span.hidden-label', 'Loading…'),
    Array.from({ length: lines }, (_, n) => h('span', { key: n, class: 'skeleton' })),
  );

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

type FoldProps = { class?: string; title: ComponentChildren; isOpen?: boolean; content: () => ComponentChildren };

/** A title with content that opens on a click. Closed content is not in the page. */
export function Fold({ class: name, title, isOpen: isOpenAtFirst = false, content }: FoldProps) {
  const [isOpen, setOpen] = useState(isOpenAtFirst);
  const toggle = ({ currentTarget }: { currentTarget: HTMLDetailsElement }) => setOpen(currentTarget.open);
  return h('details', { class: name, open: isOpen, onToggle: toggle }, el('summary', title), isOpen && content());
}

/** For pages that are empty at first. */
export const FirstSteps = ({ text }: { text?: string }) => [text, ' ', h('a', { href: '#/start' }, 'First steps')];

/** A time in seconds since 1970. The tooltip names the zone and says how long ago that is. */
export function Time({ at, none = 'never', form }: { at: number | null; none?: string; form?: TimeForm | 'brief' }) {
  if (at === null) return el('span.soft', none);
  const date = new Date(at * 1000);
  if (Number.isNaN(date.getTime())) return h('span', { title: 'seconds since 1970' }, timeText(at));
  const text = timeText(at);
  return h(
    'time',
    { dateTime: date.toISOString(), title: `${text} ${zone} (${relativeText(at)})` },
    timeText(at, form === 'brief' ? briefForm(at) : form),
  );
}

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
    return () => before instanceof HTMLElement && before.focus();
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
  );
}
