import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { Button, Icon } from '../../shared/controls.tsx';
import { highlight } from '../components/marked-text.tsx';
import { counted, ErrorNote } from '../components/ui.tsx';
import { type MessageProps, MessageView } from '../messages/message.tsx';
import { siblingsOf } from '../messages/message-actions.tsx';
import { ApiError } from '../state/api.ts';
import { isDate, timeText } from '../state/times.ts';
import { History, isGone } from './transcript-history.ts';
import { Scroll } from './transcript-scroll.ts';
import { useLiveMessages } from './use-live-messages.ts';
import { useStableFocus } from './use-stable-focus.ts';

type TranscriptProps = {
  path: readonly string[];
  /** The number of messages, as recorded for the conversation; undefined until it is loaded. */
  total: number | undefined;
  /** The message that the address names. */
  message_id: string | undefined;
  hrefOf: (message_id: string) => string;
  goTo: (message_id: string) => void;
  words: readonly string[];
  /** Set to what is shown, for the controls around the transcript. */
  shown: { current: Scroll | undefined };
  /** Called after messages or comments were loaded. */
  loaded: () => void;
};

/** A conversation as a chat, which starts at its newest message, or at the one that the address names. */
export function Transcript({ path, total, message_id, hrefOf, goTo, words, shown, loaded }: TranscriptProps) {
  const { scroll, scroller, failure, fail, retry } = useScroll(path, total, shown);
  useLayoutEffect(() => {
    void (message_id === undefined ? scroll.toNewest() : scroll.toMessage(message_id));
  }, [message_id]);
  useLayoutEffect(() => scroll.settle());
  useLayoutEffect(() => highlight(scroller.current, '.query, .answer', words));
  const { rows } = scroll.history;
  const comments = rows.filter(({ message }) => message.details?.feedback_content).length;
  useLayoutEffect(loaded, [rows.length, comments]);
  const isStale = useLiveMessages(scroll, path.at(-1), fail);
  useStableFocus(scroller.current);

  // Without the newest messages, the browser's own End would stop too early.
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'End' || !scroll.history.hasNewer) return;
    event.preventDefault();
    void scroll.toNewest();
  };
  const mark = (isReached: boolean) => scroller.current?.toggleAttribute('data-reached', isReached);
  const { history } = scroll;
  return (
    <div class="transcript">
      <div
        class="scroller"
        ref={scroller}
        tabIndex={0}
        role="region"
        aria-label="Transcript"
        onScroll={() => scroll.moved()}
        onKeyDown={onKeyDown}
        onKeyUp={({ key, target }) => key === 'Tab' && mark(target === scroller.current)}
        onBlur={() => mark(false)}
      >
        <div class="above">
          {scroll.isReading && failure === undefined && <p class="soft">Loading older messages…</p>}
        </div>
        <div role="feed" aria-busy={scroll.isReading} aria-label="Messages">
          {itemsOf(scroll, message_id, hrefOf, goTo)}
        </div>
        <div />
        {history.isOpen && history.rows.length === 0 && <p class="soft empty">No messages yet.</p>}
      </div>
      {failure && (
        <div class="trouble">
          <ErrorNote error={failure.error} retry={failure.isOfConversation ? undefined : retry} />
        </div>
      )}
      <Foot scroll={scroll} total={total} isStale={isStale} />
    </div>
  );
}

const gone = new ApiError(404, 'not_found', 'This conversation does not exist or was deleted.', null);

/** What is drawn of a conversation in the element that scrolls it, and why it could not be read. */
function useScroll(path: readonly string[], total: number | undefined, shown: TranscriptProps['shown']) {
  const [, draw] = useState(0);
  const [failure, setFailure] = useState<{ error: ApiError; isOfConversation: boolean }>();
  const scroller = useRef<HTMLDivElement>(null);
  const [unmount] = useState(() => new AbortController());
  const fail = async (error: ApiError) => {
    const isOfConversation = await isGone(path, error, unmount.signal);
    if (!unmount.signal.aborted) setFailure({ error: isOfConversation ? gone : error, isOfConversation });
  };
  const [scroll] = useState(
    () =>
      new Scroll({
        open: () => new History(path, unmount.signal),
        redraw: () => draw((count) => count + 1),
        fail: (error) => fail(error as ApiError),
      }),
  );
  scroll.total = total ?? 0;
  useLayoutEffect(() => {
    if (!scroller.current) return;
    const detach = attach(scroll, scroller.current);
    shown.current = scroll;
    return () => {
      detach();
      unmount.abort();
    };
  }, []);
  const retry = () => {
    setFailure(undefined);
    // The message that the address names does not exist, but the conversation does.
    if (failure?.error.status === 404) void scroll.toNewest();
    else scroll.retry();
  };
  return { scroll, scroller, failure, fail, retry };
}

function attach(scroll: Scroll, scroller: HTMLElement): () => void {
  const [above, list, below] = scroller.children as unknown as [HTMLElement, HTMLElement, HTMLElement];
  scroll.attach({ scroller, above, list, below });
  // Keys scroll at once, unless the user has focused another element.
  if (document.activeElement === document.body) scroller.focus({ preventScroll: true });
  const resized = new ResizeObserver((entries) => {
    // Only the messages changed: the user opened a collapsible, and wants to see that rather than the newest end.
    const isOfMessages = entries.every(({ target }) => target !== scroller);
    if (!(isOfMessages && scroll.moved())) scroll.settle();
  });
  resized.observe(scroller);
  resized.observe(list);
  return () => resized.disconnect();
}

/** The messages near the window. */
function itemsOf(
  { history, from, to }: Scroll,
  message_id: string | undefined,
  hrefOf: (message_id: string) => string,
  goTo: (message_id: string) => void,
) {
  const messages = history.rows.map(({ message }) => message);
  const siblings = siblingsOf(messages, goTo);
  return messages
    .slice(from, to)
    .map((message, i) => (
      <Item
        key={message.id}
        message={message}
        day={dayAt(history, from + i)}
        isFirst={from + i === 0 && !history.hasOlder}
        before={messages[from + i - 1]?.id}
        href={hrefOf(message.id)}
        isCurrent={message.id === message_id}
        siblings={siblings.get(message.id)}
      />
    ));
}

/** Below the messages, so that it covers none and does not move them. */
function Foot({ scroll, total, isStale }: { scroll: Scroll; total: number | undefined; isStale: boolean }) {
  const unseenText = scroll.unseen > 0 ? counted(scroll.unseen, 'new message') : '';
  return (
    <footer class="foot row soft small">
      {total !== undefined && <span>{counted(total, 'message')}</span>}
      <span class="stale" role="status">
        {isStale && 'Not up to date: the service cannot be reached.'}
      </span>
      <span class="hidden-label" role="status">
        {unseenText}
      </span>
      {!scroll.isPinned && (
        <Button class={scroll.unseen > 0 ? 'primary at-end' : 'quiet at-end'} onClick={() => scroll.toNewest()}>
          {unseenText || 'Newest'}
          <Icon name="down" />
        </Button>
      )}
    </footer>
  );
}

/** The day of a message, if it is another than that of the message before. */
function dayAt({ rows, hasOlder }: History, i: number): string | undefined {
  const [before, row] = [rows[i - 1], rows[i]];
  if (row === undefined || (before === undefined && hasOlder)) return undefined;
  const day = dayOf(row);
  return before !== undefined && dayOf(before) === day ? undefined : day;
}

const dayOf = ({ message: { created_at } }: History['rows'][number]) =>
  isDate(created_at) ? timeText(created_at, 'longDay') : undefined;

type ItemProps = MessageProps & { day: string | undefined; isFirst: boolean };

/** Not drawn again as long as nothing about it has changed. */
function Item({ message, day, isFirst, before, href, isCurrent, siblings }: ItemProps) {
  return useMemo(
    () => (
      <div class="item">
        {isFirst && <p class="soft beginning">The beginning of this conversation</p>}
        {day !== undefined && <p class="day row soft small">{day}</p>}
        <MessageView message={message} before={before} href={href} isCurrent={isCurrent} siblings={siblings} />
      </div>
    ),
    [message, day, isFirst, before, href, isCurrent, siblings?.at, siblings?.ids.length],
  );
}
