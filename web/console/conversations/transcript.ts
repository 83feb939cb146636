import { h, useLayoutEffect, useMemo, useRef, useState } from '../../shared/dom.ts';
import type { ApiError } from '../parts/api.ts';
import { counted, ErrorNote } from '../parts/ui.ts';
import { MessageView } from './message.ts';
import { History, type Row } from './transcript-history.ts';
import { Scroll } from './transcript-scroll.ts';
import { useKeptFocus } from './use-kept-focus.ts';
import { useRefresh } from './use-refresh.ts';

/** A conversation as a chat, from its newest end back. `total` is how many messages it is said to have. */
export function Transcript({ path, total }: { path: readonly string[]; total: number }) {
  const [, draw] = useState(0);
  const [error, setError] = useState<ApiError>();
  const scroller = useRef<HTMLDivElement>(null);
  const above = useRef<HTMLDivElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const below = useRef<HTMLDivElement>(null);
  const [leave] = useState(() => new AbortController());
  const [scroll] = useState(() => {
    const fail = (error: unknown) => {
      if (!leave.signal.aborted) setError(error as ApiError);
    };
    const open = () => new History(path, leave.signal);
    return new Scroll(
      open,
      () => total,
      () => draw((turn) => turn + 1),
      fail,
    );
  });

  useLayoutEffect(() => {
    if (!scroller.current || !above.current || !list.current || !below.current) return;
    scroll.attach({ scroller: scroller.current, above: above.current, list: list.current, below: below.current });
    // Keys scroll at once, unless somebody is elsewhere on purpose.
    if (document.activeElement === document.body) scroller.current.focus({ preventScroll: true });
    void scroll.toNewest();
    const resized = new ResizeObserver((sized) => {
      // The messages alone: somebody unfolded one, and wants to see that rather than the newest end.
      if (sized.every(({ target }) => target !== scroller.current)) scroll.moved();
      scroll.settle();
    });
    resized.observe(scroller.current);
    resized.observe(list.current);
    return () => {
      resized.disconnect();
      leave.abort();
    };
  }, []);
  useLayoutEffect(() => scroll.settle());
  const isStale = useRefresh(() => {
    if (scroll.isReading) return undefined;
    // What fails is tried again; only what will not mend itself is said at once.
    return scroll
      .refresh()
      .catch((error: ApiError) => (error.status === 404 ? setError(error) : Promise.reject(error)));
  });
  useKeptFocus(scroller.current);

  const again = () => {
    setError(undefined);
    scroll.again();
  };
  // The browser's own End is right wherever the newest end is held.
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'End' || !(scroll.history.hasNewer || scroll.history.isDisconnected)) return;
    event.preventDefault();
    void scroll.toNewest();
  };
  const { history, from, to } = scroll;
  const news = scroll.unseen > 0 ? counted(scroll.unseen, 'new message') : '';
  const isEmpty = history.isOpen && history.rows.length === 0;
  return h(
    'div',
    { class: 'transcript' },
    h(
      'div',
      {
        class: 'scroller',
        ref: scroller,
        tabIndex: 0,
        role: 'region',
        'aria-label': 'Transcript',
        onScroll: () => scroll.moved(),
        onKeyDown,
      },
      h(
        'div',
        { ref: above, class: 'above' },
        scroll.isReading && h('p', { class: 'soft' }, 'Loading older messages…'),
      ),
      h(
        'div',
        { ref: list, role: 'feed', 'aria-busy': scroll.isReading, 'aria-label': 'Messages' },
        history.rows
          .slice(from, to)
          .map((row, i) =>
            h(Item, { key: row.message.id, row, message: row.message, isFirst: isFirst(scroll, from + i) }),
          ),
      ),
      h('div', { ref: below }),
      isEmpty && h('p', { class: 'soft empty' }, 'No messages yet.'),
    ),
    h('p', { class: 'soft stale', role: 'status' }, isStale && 'Not up to date: the service cannot be reached.'),
    error && h('div', { class: 'trouble' }, h(ErrorNote, { error, retry: again })),
    h(
      'div',
      { class: 'newer' },
      h('span', { class: 'hidden-label', role: 'status' }, news),
      (!scroll.isPinned || history.isDisconnected) &&
        h(
          'button',
          { type: 'button', class: scroll.unseen > 0 ? 'primary' : '', onClick: () => scroll.toNewest() },
          news || 'Newest',
        ),
    ),
  );
}

const isFirst = ({ history }: Scroll, i: number): boolean => i === 0 && !history.hasOlder;

/** Drawn once for as long as its message stays the same. */
function Item({ message, isFirst }: { row: Row; message: Row['message']; isFirst: boolean }) {
  return useMemo(
    () =>
      h(
        'div',
        { class: 'item' },
        isFirst && h('p', { class: 'soft beginning' }, 'The beginning of this conversation'),
        h(MessageView, { message }),
      ),
    [message, isFirst],
  );
}
