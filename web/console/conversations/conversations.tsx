import { useEffect, useRef, useState } from 'preact/hooks';
import { ViewSearch } from '../components/filters.tsx';
import { Nothing, useTitle } from '../components/ui.tsx';
import { useMedia } from '../hooks/use-media.ts';
import { useSettled } from '../hooks/use-settled.ts';
import { hrefWith, readFilters, readRoute, useFilters, type ViewProps } from '../state/route.ts';
import { ConversationList } from './conversation-list.tsx';
import { OpenConversation } from './open-conversation.tsx';
import { SearchFilters } from './search-filters.tsx';
import { isFiltered } from './search-query.ts';
import { placeOf, useConversations } from './use-conversations.ts';

/** A search over all conversations, the list of what it finds, and one conversation; on a phone one of the two. */
export function View({ rest: [app_id, conversation_id, message_id] }: ViewProps) {
  const { filters } = useFilters();
  const box = useRef<HTMLDivElement>(null);
  const isSearch = isFiltered(filters);
  const isPhone = useMedia('(width < 45rem)');
  // No row moves while the user reads further down.
  const mayMove = () => box.current !== null && box.current.clientHeight > 0 && box.current.scrollTop === 0;
  const conversations = useConversations(filters, conversation_id, mayMove);
  const { entries, list, summaryOf } = conversations;
  const [first] = entries;
  useEffect(() => {
    // The address itself, not the properties: the user may have gone to another view, or to another filter, since.
    const [view, app, conversation] = readRoute();
    const isOld = JSON.stringify(readFilters()) !== JSON.stringify(filters);
    if (view !== 'conversations' || conversation !== undefined || isOld) return;
    if (app !== undefined) return location.replace(hrefWith(['conversations'], { ...filters, app_id: app }));
    if (isPhone || first === undefined || list.isLoading) return;
    location.replace(hrefWith(placeOf(first), filters));
  }, [app_id, conversation_id, first, list.isLoading, isPhone]);
  const hint = entries.length > 0 ? 'Choose a conversation to read it.' : 'No conversation to read.';
  const isEmpty = !isSearch && filters.app_id === undefined && list.rows.length === 0 && !list.isLoading;
  const open = app_id !== undefined && conversation_id !== undefined ? { id: conversation_id, app_id } : undefined;
  return (
    <div class={`conversations ${open === undefined ? 'at-list' : 'at-transcript'}`}>
      <section class="side" aria-labelledby="conversations-title">
        <h1 id="conversations-title" class="hidden-label">
          Conversations
        </h1>
        <Search q={filters.q ?? ''} />
        {!isEmpty && <SearchFilters filters={filters} />}
        <ConversationList conversations={conversations} open={open} filters={filters} isSearch={isSearch} box={box} />
      </section>
      {open === undefined ? (
        <NoConversation text={list.isLoading ? '' : hint} />
      ) : (
        <OpenConversation
          key={`${open.app_id} ${open.id}`}
          app_id={open.app_id}
          conversation_id={open.id}
          message_id={message_id}
          filters={filters}
          summary={summaryOf(open.id)}
        />
      )}
    </div>
  );
}

function NoConversation({ text }: { text: string }) {
  useTitle('Conversations');
  return <div class="nothing-chosen">{text && <Nothing icon="conversations">{text}</Nothing>}</div>;
}

/** The field for the search. Its text is in the address once the user has stopped typing for a moment. */
function Search({ q }: { q: string }) {
  const [typed, setTyped] = useState(q);
  const settled = useSettled(typed.trim());
  const { setFilters } = useFilters();
  const latest = useRef(q);
  useEffect(() => {
    // The address changed otherwise: by a link, or back.
    if (latest.current !== q) setTyped(q);
    latest.current = q;
  }, [q]);
  useEffect(() => {
    if (settled === q) return;
    latest.current = settled;
    // Without a search, the open conversation stays. A search opens its newest hit.
    if (settled === '') setFilters({ q: undefined }, 'replace');
    else location.replace(hrefWith(['conversations'], { ...readFilters(), q: settled }));
  }, [settled]);
  return (
    <div class="search" role="search">
      <ViewSearch
        label="Search conversations, users, IDs"
        value={typed}
        change={setTyped}
        // A transcript that opens later takes the focus itself.
        leave={() => document.querySelector<HTMLElement>('.transcript .scroller')?.focus()}
      />
    </div>
  );
}
