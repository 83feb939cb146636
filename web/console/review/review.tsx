import { limits } from '../../../server/src/contract/limits.ts';
import { Icon } from '../../shared/controls.tsx';
import { Chip, FilterChips } from '../components/filters.tsx';
import { plain } from '../components/marked-text.tsx';
import { capital, count, ErrorNote, ListEnd, Nothing, Page, Time } from '../components/ui.tsx';
import { useFilters, type ViewProps } from '../state/route.ts';
import { useShortcut } from '../state/shortcuts.tsx';
import type { ReviewListed } from '../state/types.ts';
import { ReviewForm } from './review-form.tsx';
import { reviewerOf } from './save-review.ts';
import { type Queue, useQueue } from './use-queue.ts';

const labelsShown = 8;

/** The answers that someone should look at, one after another; on a phone the queue or one answer. */
export function View({ session }: ViewProps) {
  const me = reviewerOf(session);
  const queue = useQueue(me);
  const { at, rows, current, counts, error, reload, next } = queue;
  useShortcut(current === undefined ? 'j' : undefined, 'Next answer', next);
  const hint = at === undefined ? 'Press j for the first answer.' : 'There is no such answer.';
  return (
    <Page
      title="Review"
      look={`review ${at === undefined ? 'at-list' : 'at-item'}`}
      meta={counts.left !== undefined && leftText(counts.left)}
    >
      <Tools queue={queue} />
      <ErrorNote error={error} retry={reload} />
      <div class="review-parts">
        <Answers queue={queue} />
        {current && <ReviewForm key={current.message.id} row={current} me={me} queue={queue} />}
        {!current && !queue.isFinding && rows.length > 0 && (
          <div class="review-item">
            <Nothing icon="review">{queue.message || hint}</Nothing>
          </div>
        )}
      </div>
    </Page>
  );
}

function leftText(open: number): string {
  if (open === 0) return 'nothing left this week';
  return `${count(open)}${open >= limits.reviewsCountedMax ? '+' : ''} left this week`;
}

function Tools({ queue: { counts, label } }: { queue: Queue }) {
  const { filters, hrefOfFilters } = useFilters();
  const shown = counts.labels.filter((one, n) => n < labelsShown || one.label === label);
  const countOf = (label: string) => shown.find((one) => one.label === label)?.count ?? 0;
  const states = [
    ['done', 'Done'],
    ['ignored', 'Ignored'],
    ['all', 'All'],
  ] as const;
  return (
    <div class="tools row">
      <FilterChips label="State" name="state" values={states} />
      <FilterChips label="Assignee" name="assignee" values={[['me', 'Assigned to me']]} />
      {filters.document_id && (
        <Chip label="Cites a document" isActive canRemove href={hrefOfFilters({ document_id: '' })} />
      )}
      {shown.length > 0 && (
        <FilterChips label="Label" name="label" values={shown.map(({ label }) => [label, label])} countOf={countOf} />
      )}
    </div>
  );
}

function Answers({ queue: { list, rows, current, state } }: { queue: Queue }) {
  const { hrefOfFilters } = useFilters();
  const nothing =
    state === 'open' ? 'Nothing to review: no answer of the last 30 days was disliked or failed.' : 'No such review.';
  return (
    <section class="stack" aria-label="Queue">
      {rows.length > 0 && (
        <ul class="plain newest" aria-label="Answers">
          {rows.map((row) => (
            <li key={row.message.id}>
              <a href={hrefOfFilters({ at: row.message.id })} aria-current={row === current ? 'true' : undefined}>
                <Entry row={row} />
              </a>
            </li>
          ))}
        </ul>
      )}
      <ListEnd list={list} icon="check" nothing={nothing} />
    </section>
  );
}

/** The comment of the user first, else the query. */
function Entry({ row: { message, review, reason } }: { row: ReviewListed }) {
  const { feedback_content, query, answer, user, created_at } = message;
  const look = reason === 'opened' ? 'review' : reason;
  return (
    <>
      <span class="one-line">{feedback_content ? `“${feedback_content}”` : query || 'no query'}</span>
      <span class="soft one-line">{feedback_content ? query : plain(answer) || 'no answer'}</span>
      <span class="soft small row tight">
        <span class={look} title={capital(reason)}>
          <Icon name={look} />
        </span>
        <span class="one-line">{user ?? 'no user'}</span>
        <Time at={created_at} form="brief" />
        {review && review.state !== 'open' && <span class="badge">{capital(review.state)}</span>}
        {review?.assignee && <span class="one-line">{review.assignee_name ?? review.assignee}</span>}
      </span>
    </>
  );
}
