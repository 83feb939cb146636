import { Icon } from '../../shared/controls.tsx';
import { plain } from '../components/marked-text.tsx';
import { ListEnd, Section, Time } from '../components/ui.tsx';
import { useList } from '../hooks/requests.ts';
import { pathOf } from '../state/api.ts';
import { type FilterChange, hrefWith } from '../state/route.ts';
import type { SearchHit } from '../state/types.ts';
import { disliked, failed } from './measures.ts';

const shown = 5;

/** The newest answers that someone should read. */
export const RecentProblems = ({ filters }: { filters: FilterChange }) => (
  <Section title="Recent problems">
    <div class="pair">
      <Newest title="Newest disliked answers" filters={{ ...filters, ...disliked }} />
      <Newest title="Newest failed answers" filters={{ ...filters, ...failed }} />
    </div>
  </Section>
);

type Props = {
  title: string;
  filters: FilterChange;
  /** Those with a comment are first, of so many. */
  commented?: number;
};

export function Newest({ title, filters, commented = 0 }: Props) {
  const look = filters.rating === undefined ? 'failed' : 'disliked';
  const list = useList<SearchHit>(pathOf(['admin', 'search'], { ...filters, limit: Math.max(shown, commented) }));
  const isQuiet = ({ feedback_content }: SearchHit) => Number(commented > 0 && feedback_content === null);
  const rows = list.rows.toSorted((one, other) => isQuiet(one) - isQuiet(other)).slice(0, shown);
  const hrefOf = ({ app_id, conversation_id, message_id }: SearchHit) =>
    hrefWith(['conversations', app_id, conversation_id, message_id], filters);
  const entry = (hit: SearchHit) => (
    <li key={hit.message_id}>
      <a href={hrefOf(hit)}>
        <span class="one-line">
          {hit.feedback_content ? `“${hit.feedback_content}”` : plain(hit.snippet) || 'no text'}
        </span>
        <span class="soft small one-line">
          {filters.user === undefined && `${hit.user ?? 'no user'} · `}
          <Time at={hit.created_at} />
        </span>
      </a>
    </li>
  );
  return (
    <section class="card stack" aria-label={title}>
      <h3 class="row">
        <span class={`row ${look}`}>
          <Icon name={look} />
        </span>
        {title}
      </h3>
      {rows.length > 0 && <ul class="plain newest">{rows.map(entry)}</ul>}
      {/* 404: the search is turned off. */}
      {list.error?.status === 404 && <p class="soft">{list.error.message}</p>}
      {list.hasMore || list.rows.length > shown ? (
        <a href={hrefWith(['conversations'], filters)}>Show all</a>
      ) : (
        list.error?.status !== 404 && <ListEnd list={list} nothing="None in this period." />
      )}
    </section>
  );
}
