import { h, useLayoutEffect, useMemo, useRef, useState } from '../../shared/dom.ts';
import type { ApiError } from '../parts/api.ts';
import { counted, ErrorNote } from '../parts/ui.ts';
import { MessageView } from './message.ts';
import { History, type Row } from './transcript-history.ts';
import { Scroll } from './transcript-scroll.ts';
import { useRefresh } from './use-refresh.ts';
import { useStableFocus } from './use-stable-focus.ts';

type TranscriptProps = {
  path: readonly string[];
  /** The number of messages, as recorded for the conversation. */
  total: number;
  /** Called after new messages were found. */
  grew: () => void;
};

/** A conversation as a chat, which starts at its newest message. */
export function Transcript({ path, total, grew }: TranscriptProps) {
  const [, draw] = useState(0);
  const [error, setError] = useState<ApiError>();
  const scroller = useRef<HTMLDivElement>(null);
  const above = useRef<HTMLDivElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const below = useRef<HTMLDivElement>(null);
  const [unmount] = useState(() => new AbortController());
  const [scroll] = useState(() => {
    const fail = (error: unknown) => {
      if (!unmount.signal.aborted) setError(error as ApiError);
    };
    const open = () => new History(path, unmount.signal);
    return new Scroll(
      open,
      () => total,
      () => draw((count) => count + 1),
      fail,
    );
  });

  useLayoutEffect(() => {
    if (!scroller.current || !above.current || !list.current || !below.current) return;
    scroll.attach({ scroller: scroller.current, above: above.current, list: list.current, below: below.current });
    // Keys scroll at once, unless the user has focused another element.
    if (document.activeElement === document.body) scroller.current.focus({ preventScroll: true });
    void scroll.toNewest();
    const resized = new ResizeObserver((entries) => {
      // Only the messages changed: the user opened a collapsible, and wants to see that rather than the newest end.
      if (entries.every(({ target }) => target !== scroller.current)) scroll.moved();
      scroll.settle();
    });
    resized.observe(scroller.current);
    resized.observe(list.current);
    return () => {
      resized.disconnect();
      unmount.abort();
    };
  }, []);
  useLayoutEffect(() => scroll.settle());
  const isStale = useRefresh(() => {
    if (scroll.isReading) return undefined;
    // A failure is retried; only one that will not go away by itself is shown at once.
    return scroll
      .refresh()
      .then((fresh) => fresh > 0 && grew())
      .catch((error: ApiError) => (error.status === 404 ? setError(error) : Promise.reject(error)));
  });
  useStableFocus(scroller.current);

  const retry = () => {
    setError(undefined);
    scroll.retry();
  };
  // Without the newest messages, the browser's own End would stop too early.
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'End' || !(scroll.history.hasNewer || scroll.history.isDisconnected)) return;
    event.preventDefault();
    void scroll.toNewest();
  };
  const { history, from, to } = scroll;
  const unseenText = scroll.unseen > 0 ? counted(scroll.unseen, 'new message') : '';
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
    error && h('div', { class: 'trouble' }, h(ErrorNote, { error, retry })),
    h(
      'div',
      { class: 'newer' },
      h('span', { class: 'hidden-label', role: 'status' }, unseenText),
      (!scroll.isPinned || history.isDisconnected) &&
        h(
          'button',
          { type: 'button', class: scroll.unseen > 0 ? 'primary' : '', onClick: () => scroll.toNewest() },
          unseenText || 'Newest',
        ),
    ),
  );
}

const isFirst = ({ history }: Scroll, i: number): boolean => i === 0 && !history.hasOlder;

/** Not drawn again as long as its message is the same. */
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
