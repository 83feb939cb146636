import { useLayoutEffect } from 'preact/hooks';
import { Button, Icon } from '../../shared/controls.tsx';
import { Marked, matchesIn, plain, wordsOf } from '../components/marked-text.tsx';
import { counted, FirstSteps, ListEnd, money, Time } from '../components/ui.tsx';
import { useResponse } from '../hooks/requests.ts';
import { pathOf } from '../state/api.ts';
import { type Filters, hrefWith } from '../state/route.ts';
import { isToday } from '../state/times.ts';
import type { ConversationSummary, SearchCounts, SearchHit } from '../state/types.ts';
import { queryOf } from './search-query.ts';
import { type ConversationEntry, type Conversations, placeOf } from './use-conversations.ts';
import { useStableFocus } from './use-stable-focus.ts';

type Props = {
  conversations: Conversations;
  open: { id: string; app_id: string } | undefined;
  filters: Filters;
  isSearch: boolean;
  box: { current: HTMLDivElement | null };
};

/** The conversations, or those with hits. The open one is among them also if it is not on the pages that were read. */
export function ConversationList({ conversations, open, filters, isSearch, box }: Props) {
  const { entries, list, summaryOf, fresh } = conversations;
  const isListed = entries.some(({ id }) => id === open?.id);
  // It leaves this place when a page that has it is read.
  const isFirstPage = list.isLoading && entries.length === 0;
  const isApart = open !== undefined && !isListed && !isFirstPage && summaryOf(open.id) !== undefined;
  const shown: readonly ConversationEntry[] = isApart ? [open, ...entries] : entries;
  const namesApp = new Set(shown.map(({ app_id }) => app_id)).size > 1;
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
  return (
    <div class="conversation-list" ref={box}>
      {fresh > 0 && (
        <Button class="fresh" onClick={list.reload}>
          <span role="status">{fresh} new</span> · Show
        </Button>
      )}
      {shown.length > 0 && (
        <ul class="plain" aria-label="Conversations">
          {shown.map((entry, at) => (
            <li key={entry.id}>
              <Row
                entry={entry}
                summary={summaryOf(entry.id)}
                isOpen={entry.id === open?.id}
                apart={isApart && at === 0 ? apart : undefined}
                namesApp={namesApp}
                filters={filters}
              />
            </li>
          ))}
        </ul>
      )}
      <ListEnd
        list={list}
        readsAhead
        icon={isSearch ? 'search' : 'conversations'}
        nothing={isSearch ? <NoMatch filters={filters} /> : <FirstSteps text="No conversations yet." />}
      />
    </div>
  );
}

function NoMatch({ filters }: { filters: Filters }) {
  const { body } = useResponse<SearchCounts>(pathOf(['admin', 'search', 'counts'], queryOf(filters)));
  const suggestion = body?.suggestion;
  const link = (look: string, change: Filters, text: string) => (
    <a class={`button ${look}`} href={hrefWith(['conversations'], change)}>
      {text}
    </a>
  );
  return (
    <>
      <strong>Nothing matches</strong>
      <span>{filters.q === undefined ? 'No message has all of these filters.' : `No message has “${filters.q}”.`}</span>
      {suggestion && link('primary', { ...filters, q: suggestion }, `Search for “${suggestion}”`)}
      {link('', {}, Object.keys(filters).join() === 'q' ? 'Clear the search' : 'Clear the filters')}
    </>
  );
}

type RowProps = {
  entry: ConversationEntry;
  summary: ConversationSummary | undefined;
  isOpen: boolean;
  /** Why the row is before all others, if it is. */
  apart: string | undefined;
  /** There are several apps in the list. */
  namesApp: boolean;
  filters: Filters;
};

function Row({ entry, summary, isOpen, apart, namesApp, filters }: RowProps) {
  const { hit } = entry;
  const at = hit?.created_at ?? summary?.last_message_at ?? null;
  const name = summary?.name ?? '…';
  const words = wordsOf(filters.q ?? '');
  // The title may be the text that was found, and the text of a message without an answer is its query.
  const found = hit !== undefined && !isAlike(hit.snippet, name) ? hit : undefined;
  const comment = words.length === 0 && hit?.feedback_content;
  const last = summary && (isAlike(summary.last_text, name) ? 'no answer' : summary.last_text);
  return (
    <a href={hrefWith(placeOf(entry), filters)} aria-current={isOpen ? 'true' : undefined}>
      <strong class="name one-line whole-row">
        <Marked text={name} ranges={found ? [] : matchesIn(name, words)} />
      </strong>
      <span class={`words soft whole-row ${found === undefined ? 'one-line' : 'two-lines'}`}>
        {comment ? (
          `“${comment}”`
        ) : (
          <Marked text={found?.snippet ?? last ?? ''} ranges={found?.ranges ?? []} draw={plain} />
        )}
      </span>
      <span class="soft small statistics">{summary && statistics(summary, hit, words, namesApp)}</span>
      <span class="soft small when">
        <Sign n={summary?.disliked_count} label="disliked" />
        <Sign n={summary?.failed_count} label="failed" />
        {/* The list has no room for the word. */}
        <Time at={at} none="" form={at !== null && isToday(at) ? 'clock' : 'brief'} />
      </span>
      {apart && <span class="soft small whole-row">{apart}</span>}
    </a>
  );
}

/** A text as long as this may be only the beginning. */
const cutUnits = 150;

function isAlike(one: string, other: string): boolean {
  const [begin, otherBegin] = [one, other].map((text) => text.trim().slice(0, cutUnits));
  return begin === otherBegin;
}

/** On one line: the cost gives way to the app where there are several. */
function statistics(
  summary: ConversationSummary,
  hit: SearchHit | undefined,
  words: readonly string[],
  namesApp: boolean,
) {
  const { user, message_count, price, currency, app_name } = summary;
  const ranges = matchesIn(user ?? '', words);
  const isById = words.length > 0 && hit?.ranges.length === 0 && ranges.length === 0;
  return (
    <>
      <span title={user ?? undefined} class="one-line">
        <Marked text={user ?? 'no user'} ranges={ranges} />
      </span>
      <span>{counted(message_count, 'msg')}</span>
      {hit?.hit_count && hit.hit_count > 1 && <span>{counted(hit.hit_count, 'hit')}</span>}
      {isById && <span>matches an ID</span>}
      {namesApp ? (
        <span title={app_name} class="one-line">
          {app_name}
        </span>
      ) : (
        price !== null && price > 0 && <span>{money(price, currency ?? '')}</span>
      )}
    </>
  );
}

const Sign = ({ n = 0, label }: { n: number | undefined; label: 'disliked' | 'failed' }) =>
  n > 0 && (
    <span class={`sign row tight ${label}`} role="img" aria-label={`${n} ${label}`} title={`${n} ${label}`}>
      <Icon name={label} />
      {n > 1 && n}
    </span>
  );
