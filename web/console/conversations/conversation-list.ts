import { h, useEffect, useLayoutEffect, useRef, useState } from '../../shared/dom.ts';
import { pathOf } from '../parts/api.ts';
import { hrefOf } from '../parts/route.ts';
import type { Conversation } from '../parts/types.ts';
import { counted, ListEnd, Time } from '../parts/ui.ts';
import { useList } from '../parts/use-list.ts';
import { useKeptFocus } from './use-kept-focus.ts';
import { useRefresh } from './use-refresh.ts';

const typingMillis = 250;
/** So many pixels before the end of the list, more of it is read. */
const nearEnd = 400;

/** The conversations of an app, the latest first, or those that a search finds. */
export function ConversationList({ app_id, chosen }: { app_id: string; chosen: string | undefined }) {
  const [typed, setTyped] = useState('');
  const search = useSettled(typed.trim());
  const list = useList<Conversation>(pathOf(['admin', 'apps', app_id, 'conversations'], { search, limit: 50 }));
  const box = useRef<HTMLDivElement>(null);
  // What is found is looked at from its beginning.
  useLayoutEffect(() => box.current?.scrollTo(0, 0), [search, app_id]);
  useRefresh(() => {
    // Nothing moves under somebody who looks further down, nor among what they have found.
    const isAtTop = box.current !== null && box.current.clientHeight > 0 && box.current.scrollTop === 0;
    const isFree = typed === '' && search === '' && !list.isLoading && list.error === undefined;
    return isAtTop && isFree ? list.refresh(({ id }) => id) : undefined;
  });
  useKeptFocus(box.current);
  const onScroll = ({ currentTarget }: Event) => {
    const { scrollTop, clientHeight, scrollHeight } = currentTarget as HTMLElement;
    if (scrollHeight - scrollTop - clientHeight < nearEnd && list.error === undefined) list.more();
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
      h(ListEnd, { list, nothing: search === '' ? 'No conversations yet.' : 'Nothing found.' }),
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

/** A text once it has stood for a moment. */
function useSettled(text: string): string {
  const [settled, settle] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => settle(text), text === '' ? 0 : typingMillis);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}
