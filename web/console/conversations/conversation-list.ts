import { button, el, h, useLayoutEffect } from '../../shared/dom.ts';
import { Icon } from '../../shared/icon.ts';
import { money } from '../components/format-number.ts';
import { Marked, plain } from '../components/marked-text.ts';
import { counted, FirstSteps, ListEnd, Time } from '../components/ui.ts';
import { useResponse } from '../hooks/use-reading.ts';
import { pathOf } from '../state/api.ts';
import { matchesIn, wordsOf } from '../state/highlight.ts';
import { type Filters, hrefWith } from '../state/route.ts';
import { briefForm } from '../state/times.ts';
import type { ConversationSummary, SearchCounts, SearchHit } from '../state/types.ts';
import { queryOf } from './search-query.ts';
import { type ConversationEntry, type Conversations, placeOf } from './use-conversations.ts';
import { useStableFocus } from './use-stable-focus.ts';

/** This many pixels before the end of the list, the next page is read. */
const readAheadPixels = 400;

type Props = {
  conversations: Conversations;
  /** The open conversation. */
  open: { id: string; app_id: string } | undefined;
  filters: Filters;
  isSearch: boolean;
  box: { current: HTMLDivElement | null };
};

/** The conversations, or those with hits. The open one is among them also if it is not on the pages that were read. */
export function ConversationList({
  conversations: { entries, list, summaryOf, fresh },
  open,
  filters,
  isSearch,
  box,
}: Props) {
  const isListed = entries.some(({ id }) => id === open?.id);
  // It leaves this place when a page that has it is read.
  const isFirstPage = list.isLoading && entries.length === 0;
  const isApart = open !== undefined && !isListed && !isFirstPage && summaryOf(open.id) !== undefined;
  const shown: readonly ConversationEntry[] = isApart ? [{ ...open, hits: [] }, ...entries] : entries;
  const apart = list.hasMore ? 'Not in the part of the list that was read.' : 'Not in this list.';
  // Rows are taller with their summaries.
  const isComplete = entries.every(({ id }) => summaryOf(id) !== undefined);
  useLayoutEffect(() => {
    const row = box.current?.querySelector('[aria-current]');
    const [seen, place] = [box.current, row].map((element) => element?.getBoundingClientRect());
    // To the middle, because the filters above the list grow when their counts are loaded.
    if (seen && place && (place.top < seen.top || place.bottom > seen.bottom)) row?.scrollIntoView({ block: 'center' });
  }, [isListed, isApart, isComplete, open?.id]);
  useStableFocus(box.current);
  const onScroll = ({ currentTarget }: Event) => {
    const { scrollTop, clientHeight, scrollHeight } = currentTarget as HTMLElement;
    if (scrollHeight - scrollTop - clientHeight < readAheadPixels && list.error === undefined) list.more();
  };
  return h(
    'div',
    { class: 'conversation-list', ref: box, onScroll },
    fresh > 0 &&
      button({ class: 'fresh', onClick: list.reload }, h('span', { role: 'status' }, `${fresh} new`), ' · Show'),
    shown.length > 0 &&
      h(
        'ul',
        { class: 'plain', 'aria-label': 'Conversations' },
        shown.map((entry) => {
          const isOpen = entry.id === open?.id;
          const row = {
            entry,
            summary: summaryOf(entry.id),
            isOpen,
            apart: isOpen && isApart ? apart : undefined,
            filters,
          };
          return h('li', { key: entry.id }, h(Row, row));
        }),
      ),
    h(ListEnd, {
      list,
      icon: isSearch ? 'search' : 'conversations',
      nothing: isSearch ? h(NoMatch, { filters }) : h(FirstSteps, { text: 'No conversations yet.' }),
    }),
  );
}

function NoMatch({ filters }: { filters: Filters }) {
  const { body } = useResponse<SearchCounts>(pathOf(['admin', 'search', 'counts'], queryOf(filters)));
  const suggestion = body?.suggestion;
  return [
    'Nothing matches. ',
    suggestion && [
      'Did you mean ',
      h('a', { href: hrefWith(['conversations'], { ...filters, q: suggestion }) }, suggestion),
      '? ',
    ],
    h('a', { href: hrefWith(['conversations'], {}) }, 'Clear the filters'),
  ];
}

type RowProps = {
  entry: ConversationEntry;
  summary: ConversationSummary | undefined;
  isOpen: boolean;
  /** Why the row is before all others, if it is. */
  apart: string | undefined;
  filters: Filters;
};

function Row({ entry, summary, isOpen, apart, filters }: RowProps) {
  const { hits } = entry;
  const [hit] = hits;
  const at = hit?.created_at ?? summary?.last_message_at ?? null;
  return h(
    'a',
    { href: hrefWith(placeOf(entry), filters), 'aria-current': isOpen ? 'true' : undefined },
    el('span.name.one-line', summary?.name ?? '…'),
    h(
      'span',
      { class: `words ${hit === undefined ? 'one-line' : 'two-lines'}` },
      h(Marked, { text: hit?.snippet ?? summary?.last_text ?? '', ranges: hit?.ranges ?? [], draw: plain }),
    ),
    el('span.soft.one-line.statistics', summary && h(Statistics, { summary, hits, filters })),
    el('span.soft.when', h(Signs, { summary }), h(Time, { at, none: '', form: briefForm(at ?? 0) })),
    apart && el('span.soft.apart', apart),
  );
}

type StatisticsProps = { summary: ConversationSummary; hits: readonly SearchHit[]; filters: Filters };

function Statistics({ summary, hits, filters: { q = '', app_id } }: StatisticsProps) {
  const { user, message_count, price, currency, app_name } = summary;
  const ranges = matchesIn(user ?? '', wordsOf(q));
  const isById = q !== '' && hits[0]?.ranges.length === 0 && ranges.length === 0;
  return [
    h('span', { title: user }, h(Marked, { text: user ?? 'no user', ranges })),
    el('span', counted(message_count, 'message')),
    hits.length > 1 && el('span', counted(hits.length, 'hit')),
    isById && el('span', 'matches an id'),
    price !== null && price > 0 && el('span', money(price, currency ?? '')),
    app_id === undefined && h('span', { title: app_name }, app_name),
  ];
}

const Signs = ({ summary }: { summary: ConversationSummary | undefined }) => [
  h(Sign, { n: summary?.disliked_count ?? 0, label: 'disliked' }),
  h(Sign, { n: summary?.failed_count ?? 0, label: 'failed' }),
];

const Sign = ({ n, label }: { n: number; label: 'disliked' | 'failed' }) =>
  n > 0 &&
  h(
    'span',
    { class: `sign ${label}`, role: 'img', 'aria-label': `${n} ${label}`, title: `${n} ${label}` },
    h(Icon, { name: label }),
    n,
  );
