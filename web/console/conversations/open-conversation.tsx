import { useMemo, useRef, useState } from 'preact/hooks';
import { limits } from '../../../server/src/contract/limits.ts';
import { Icon } from '../../shared/controls.tsx';
import { wordsOf } from '../components/marked-text.tsx';
import { useTitle } from '../components/ui.tsx';
import { type List, useList } from '../hooks/requests.ts';
import { useMedia } from '../hooks/use-media.ts';
import { Inspector } from '../messages/inspector.tsx';
import { reviewHref, StepButton } from '../messages/message-actions.tsx';
import { pathOf } from '../state/api.ts';
import { type Filters, hrefWith } from '../state/route.ts';
import { useShortcut } from '../state/shortcuts.tsx';
import type { ConversationSummary, SearchHit } from '../state/types.ts';
import { findNext, type MessageKind, neighbourOf } from './next-message.ts';
import { isSearched, queryOf } from './search-query.ts';
import { Transcript } from './transcript.tsx';
import type { Scroll } from './transcript-scroll.ts';

type Props = {
  app_id: string;
  conversation_id: string;
  message_id: string | undefined;
  filters: Filters;
  /** Undefined until it is loaded. */
  summary: ConversationSummary | undefined;
};

/** The transcript of a conversation, with its name above and, in a wide window, what is known about it beside. */
export function OpenConversation({ app_id, conversation_id, message_id, filters, summary }: Props) {
  const path = ['admin', 'apps', app_id, 'conversations', conversation_id];
  const shown = useRef<Scroll | undefined>(undefined);
  const [, drawInspector] = useState(0);
  const words = useMemo(() => wordsOf(filters.q ?? ''), [filters.q]);
  const query = { ...queryOf(filters), app_id, conversation_id, limit: limits.listRowsMax };
  const hits = useList<SearchHit>(isSearched(filters) ? pathOf(['admin', 'search'], query) : undefined);
  const isWide = useMedia('(width >= 80rem)');
  const place = ['conversations', app_id, conversation_id];
  const listHref = hrefWith(['conversations'], filters);
  /** Moves along in the transcript. The history of the browser gets no entry for each step. */
  const goTo = (id: string) => {
    const href = hrefWith([...place, id], filters);
    if (location.hash === href) void shown.current?.toMessage(id);
    else location.replace(href);
  };
  const step = (distance: 1 | -1) => {
    const id = shown.current && neighbourOf(shown.current, message_id, distance);
    if (id !== undefined) goTo(id);
  };
  useShortcut('j', 'Next message', () => step(1));
  useShortcut('k', 'Previous message', () => step(-1));
  const toNext = async (kind: MessageKind) => {
    if (shown.current === undefined) return;
    const id = await findNext(shown.current, { app_id, conversation_id, message_id }, kind);
    if (id !== undefined) goTo(id);
  };
  useShortcut('n', 'Next bad answer', () => void toNext('bad'));
  const review = () => location.assign(reviewHref(message_id ?? ''));
  useShortcut(message_id && 'r', 'Review this answer', review);
  const title = summary?.name ?? 'Conversation';
  useTitle(title, summary?.user ?? undefined, 'Conversations');
  const inspector = summary && <Inspector summary={summary} path={path} shown={shown} toNext={toNext} />;
  return (
    <section class="open-conversation" aria-labelledby="transcript-title">
      <header class="row">
        <a class="back button quiet icon-only" href={listHref} aria-label="Back to conversations">
          <Icon name="left" />
        </a>
        <h2 id="transcript-title" class="one-line" title={title}>
          {title}
        </h2>
        {!isWide && inspector && (
          <details class="inspector-menu">
            <summary>Details</summary>
            {inspector}
          </details>
        )}
        {hits.rows.length > 0 && <HitSteps hits={hits} label={hitLabel(filters)} message_id={message_id} goTo={goTo} />}
      </header>
      <Transcript
        path={path}
        total={summary?.message_count}
        message_id={message_id}
        hrefOf={(id) => hrefWith([...place, id], {})}
        goTo={goTo}
        words={words}
        shown={shown}
        loaded={() => drawInspector((count) => count + 1)}
      />
      {isWide && inspector && <aside aria-label="About this conversation">{inspector}</aside>}
    </section>
  );
}

/** What the search is for, in one word. */
const hitLabel = ({ q, rating, status }: Filters): string =>
  q === undefined && rating === 'dislike' ? 'Disliked' : q === undefined && status === 'error' ? 'Failed' : 'Hit';

type StepsProps = { hits: List<SearchHit>; label: string; message_id: string | undefined; goTo: (id: string) => void };

/** `Hit 3 of 14 ‹ ›`: steps through the hits, from the oldest to the newest. The keys begin again after the last one. */
function HitSteps({ hits, label: kind, message_id, goTo }: StepsProps) {
  const ids = hits.rows.map((hit) => hit.message_id).toReversed();
  const at = ids.indexOf(message_id ?? '');
  const step = (to: number, key: string, label: string, icon: 'left' | 'right') => {
    const around = ids.at(to % ids.length);
    useShortcut(key, label, () => around !== undefined && goTo(around));
    return <StepButton id={at < 0 ? around : ids[to]} goTo={goTo} label={label} icon={icon} />;
  };
  const steps = [step(at < 0 ? -1 : at - 1, '[', 'Previous hit', 'left'), step(at + 1, ']', 'Next hit', 'right')];
  // The keys lead back to a single hit.
  if (ids.length === 1) return null;
  return (
    <span class="row tight" role="group" aria-label="Hits in this conversation">
      <span class="soft tabular" role="status">
        {kind} {at < 0 ? '–' : at + 1} of {ids.length}
        {hits.hasMore ? '+' : ''}
      </span>
      {steps}
    </span>
  );
}
