import { type ComponentChildren, h, useEffect, useId, useRef } from '../../shared/dom.ts';
import type { ApiError } from './api.ts';
import { locale } from './locale.ts';
import type { List } from './use-list.ts';

/** The small parts that all views use. */

export function ErrorNote({ error, retry }: { error: ApiError | undefined; retry?: () => void }) {
  if (error === undefined) return null;
  return h(
    'div',
    { class: 'note bad', role: 'alert' },
    h('p', null, error.message),
    error.requestId !== null && h('p', { class: 'mono' }, `request ${error.requestId}`),
    retry && h('button', { type: 'button', onClick: retry }, 'Try again'),
  );
}

/** What stands below a list: that it loads, what went wrong, how to get more, or that there is nothing. */
export function ListEnd({ list, nothing }: { list: List<unknown>; nothing: string }) {
  if (list.error !== undefined)
    return h(ErrorNote, { error: list.error, retry: list.rows.length > 0 ? list.more : list.reload });
  if (list.isLoading) return h('p', { class: 'soft', role: 'status' }, 'Loading…');
  if (list.rows.length === 0) return h('p', { class: 'soft' }, nothing);
  return list.hasMore ? h('button', { type: 'button', class: 'more', onClick: list.more }, 'Show more') : null;
}

const dates = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short' });
const relative = new Intl.RelativeTimeFormat(locale, { numeric: 'auto' });
const units: readonly [Intl.RelativeTimeFormatUnit, number][] = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
];

/**
 * A moment in seconds: how long ago while that is within a week, else its date. The whole of it on a second look. Whoever
 * writes records may have counted in something else: what no calendar has is shown as it is.
 */
export function Time({ at, none = 'never' }: { at: number | null; none?: string }) {
  if (at === null) return h('span', { class: 'soft' }, none);
  const date = new Date(at * 1000);
  // A record may hold any whole number, and no calendar goes on for ever.
  if (Number.isNaN(date.getTime())) return h('span', { title: 'seconds since 1970' }, `${at} s`);
  const away = at - Date.now() / 1000;
  const unit = units.find(([, seconds]) => Math.abs(away) >= seconds);
  const near = Math.abs(away) < 7 * 86_400;
  const words = !near
    ? dates.format(date)
    : unit === undefined
      ? 'just now'
      : relative.format(Math.trunc(away / unit[1]), unit[0]);
  return h('time', { dateTime: date.toISOString(), title: dates.format(date) }, words);
}

export const count = (n: number): string => n.toLocaleString(locale);

/** `1 word`, `2 words`. */
export const counted = (n: number, thing: string): string => `${count(n)} ${thing}${n === 1 ? '' : 's'}`;

/** A dialog that is open while it is there; Escape and `close` end it. What had the focus before gets it back. */
export function Dialog({ title, close, children }: { title: string; close: () => void; children?: ComponentChildren }) {
  const element = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const before = document.activeElement;
    element.current?.showModal();
    return () => before instanceof HTMLElement && before.focus();
  }, []);
  return h(
    'dialog',
    { ref: element, 'aria-labelledby': id, onClose: close },
    h('div', { class: 'stack' }, h('h2', { id }, title), children),
  );
}
