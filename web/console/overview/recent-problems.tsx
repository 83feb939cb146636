import { Icon } from '../../shared/controls.tsx';
import { plain } from '../components/marked-text.tsx';
import { ListEnd, Section, Time } from '../components/ui.tsx';
import { useList } from '../hooks/requests.ts';
import { pathOf } from '../state/api.ts';
import type { Period } from '../state/period.ts';
import { type FilterChange, hrefWith } from '../state/route.ts';
import type { SearchHit } from '../state/types.ts';
import { disliked, failed } from './measures.ts';

const shown = 5;

type Props = { period: Period; app_id: string | undefined };

/** The newest answers that someone should read. */
export const RecentProblems = ({ period, app_id }: Props) => (
  <Section title="Recent problems">
    <div class="pair">
      <Newest title="Newest disliked answers" look="disliked" filters={disliked} period={period} app_id={app_id} />
      <Newest title="Newest failed answers" look="failed" filters={failed} period={period} app_id={app_id} />
    </div>
  </Section>
);

type NewestProps = Props & { title: string; filters: FilterChange; look: 'disliked' | 'failed' };

export function Newest({ title, filters, look, period: { from, to }, app_id }: NewestProps) {
  const inPeriod = { app_id, ...filters, from, to };
  const list = useList<SearchHit>(pathOf(['admin', 'search'], { ...inPeriod, limit: shown }));
  const hrefOf = ({ app_id, conversation_id, message_id }: SearchHit) =>
    hrefWith(['conversations', app_id, conversation_id, message_id], inPeriod);
  const entry = (hit: SearchHit) => (
    <li key={hit.message_id}>
      <a href={hrefOf(hit)}>
        <span class="one-line">
          {hit.feedback_content ? `“${hit.feedback_content}”` : plain(hit.snippet) || 'no text'}
        </span>
        <span class="soft small one-line">
          {hit.user ?? 'no user'} · <Time at={hit.created_at} />
        </span>
      </a>
    </li>
  );
  return (
    <div class="card stack">
      <h3 class="row">
        <span class={`row ${look}`}>
          <Icon name={look} />
        </span>
        {title}
      </h3>
      {list.rows.length > 0 && <ul class="plain newest">{list.rows.map(entry)}</ul>}
      {/* 404: the search is turned off. */}
      {list.error?.status === 404 && <p class="soft">{list.error.message}</p>}
      {list.hasMore ? (
        <a href={hrefWith(['conversations'], inPeriod)}>Show all</a>
      ) : (
        list.error?.status !== 404 && <ListEnd list={list} nothing="None in this period." />
      )}
    </div>
  );
}
