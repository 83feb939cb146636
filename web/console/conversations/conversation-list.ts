import { h, useEffect, useLayoutEffect, useRef, useState } from '../../shared/dom.ts';
import { pathOf } from '../parts/api.ts';
import { hrefOf } from '../parts/route.ts';
import type { Conversation } from '../parts/types.ts';
import { counted, ListEnd, Time } from '../parts/ui.ts';
import { useList } from '../parts/use-list.ts';
import { useRefresh } from './use-refresh.ts';
import { useStableFocus } from './use-stable-focus.ts';

const typingMillis = 250;
/** This many pixels before the end of the list, the next page is read. */
const readAheadPixels = 400;

/** The conversations of an app, or those that match a search; the latest first. */
export function ConversationList({ app_id, chosen }: { app_id: string; chosen: string | undefined }) {
  const [typed, setTyped] = useState('');
  const search = useDebounced(typed.trim());
  const list = useList<Conversation>(pathOf(['admin', 'apps', app_id, 'conversations'], { search, limit: 50 }));
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => box.current?.scrollTo(0, 0), [search, app_id]);
  // An address may name a conversation that is further down.
  const isListed = list.rows.some(({ id }) => id === chosen);
  useLayoutEffect(() => {
    if (isListed) box.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest' });
  }, [isListed, chosen]);
  useRefresh(() => {
    // No row moves while the user reads further down, or searches.
    const isAtTop = box.current !== null && box.current.clientHeight > 0 && box.current.scrollTop === 0;
    const isIdle = typed === '' && search === '' && !list.isLoading && list.error === undefined;
    return isAtTop && isIdle ? list.refresh(({ id }) => id) : undefined;
  });
  useStableFocus(box.current);
  const onScroll = ({ currentTarget }: Event) => {
    const { scrollTop, clientHeight, scrollHeight } = currentTarget as HTMLElement;
    if (scrollHeight - scrollTop - clientHeight < readAheadPixels && list.error === undefined) list.more();
  };
  const onKeyDown = ({ key }: KeyboardEvent) => {
    if (key === 'Escape') setTyped('');
  };
  return [
    h(
      'div',
      { class: 'search', role: 'search' },
      h(
        'label',
        null,
        h('span', { class: 'hidden-label' }, 'Search by conversation id or user'),
        h('input', {
          type: 'text',
          value: typed,
          placeholder: 'Conversation id or user',
          autoComplete: 'off',
          spellCheck: false,
          onInput: ({ currentTarget }: Event) => setTyped((currentTarget as HTMLInputElement).value),
          onKeyDown,
        }),
      ),
      typed !== '' && h('button', { type: 'button', class: 'quiet', onClick: () => setTyped('') }, 'Clear'),
    ),
    h(
      'div',
      { class: 'conversation-list', ref: box, onScroll },
      list.rows.length > 0 &&
        h(
          'ul',
          { 'aria-label': 'Conversations' },
          list.rows.map((row) => h('li', { key: row.id }, h(Entry, { app_id, row, isChosen: row.id === chosen }))),
        ),
      h(ListEnd, { list, nothing: search === '' ? 'No conversations yet.' : 'No conversation matches.' }),
    ),
  ];
}

function Entry({ app_id, row, isChosen }: { app_id: string; row: Conversation; isChosen: boolean }) {
  const href = hrefOf('conversations', app_id, row.id);
  return h(
    'a',
    { href, 'aria-current': isChosen ? 'true' : undefined },
    h('span', { class: 'user' }, row.user ?? 'no user'),
    h('span', { class: 'soft when' }, h(Time, { at: row.last_message_at, none: 'no messages' })),
    h('code', { class: 'soft' }, row.id),
    h('span', { class: 'soft count' }, counted(row.message_count, 'message')),
  );
}

/** A text, once the user has stopped typing for a moment. */
function useDebounced(text: string): string {
  const [debounced, setDebounced] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setDebounced(text), text === '' ? 0 : typingMillis);
    return () => clearTimeout(timer);
  }, [text]);
  return debounced;
}
