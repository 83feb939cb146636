import type { ComponentChildren } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { limits } from '../../../server/src/contract/limits.ts';
import { Button, Fold, Icon } from '../../shared/controls.tsx';
import { capital, ErrorNote, Time } from '../components/ui.tsx';
import { useList } from '../hooks/requests.ts';
import { CitedChunk } from '../knowledge/cited-text.tsx';
import { ReviewedMessage } from '../knowledge/use-chunk-edit.ts';
import { Comment, MessageView } from '../messages/message.tsx';
import { pathOf } from '../state/api.ts';
import { hrefOf, useFilters, useMayWrite } from '../state/route.ts';
import { useShortcut } from '../state/shortcuts.tsx';
import type { RetrieverResource, Review, ReviewListed } from '../state/types.ts';
import type { Queue } from './use-queue.ts';
import { useReview } from './use-review.ts';

type Props = { row: ReviewListed; me: string; queue: Queue };
type Writing = ReturnType<typeof useReview>;

/** An answer with what its user said about it, the text that it cites, and its review. */
export function ReviewForm({ row, me, queue }: Props) {
  const { message, review } = row;
  const writing = useReview(row, queue.keep);
  const mayWrite = useMayWrite('putReview');
  const { feedback_content, model, model_provider, retriever_resources } = message;
  const details = { message_id: message.id, feedback_content: null, model_provider, model, trace_url: null };
  const href = hrefOf('conversations', message.app_id, message.conversation_id, message.id);
  return (
    <section class="review-item stack" aria-label="Answer to review">
      <Actions row={row} me={me} queue={queue} writing={writing}>
        <a class="at-end" href={href}>
          Open the conversation
        </a>
      </Actions>
      <p class="soft" role="status">
        {queue.message || writing.message || stateText(row)}
      </p>
      <ErrorNote error={writing.error} retry={queue.reload} />
      <Comment text={feedback_content} />
      <MessageView
        message={{ ...message, details }}
        href={href}
        before={message.parent_message_id ?? undefined}
        isInReview
      />
      <CitedTexts resources={mayWrite ? retriever_resources : []} of={message.id} />
      <WrittenFields writing={writing} />
      {review && review.history.length > 0 && <History review={review} />}
    </section>
  );
}

type ActionProps = { name: string; letter: string; act: () => unknown; isBusy?: boolean; look?: string };

/** A button whose letter does the same. */
function Action({ name, letter, act, isBusy = false, look }: ActionProps) {
  useShortcut(letter, name, () => !isBusy && act());
  return (
    <Button class={look} disabled={isBusy} onClick={act}>
      {name} <kbd>{letter}</kbd>
    </Button>
  );
}

function Actions({ row, me, queue, writing, children }: Props & { writing: Writing; children: ComponentChildren }) {
  const { hrefOfFilters } = useFilters();
  const mayWrite = useMayWrite('putReview');
  const { stored, isChanged, save } = writing;
  const isBusy = queue.isBusy || writing.isBusy;
  const next = async () => {
    if (isChanged && mayWrite && !(await save({}, 'Saved.'))) return;
    await queue.next();
  };
  const assign = () => save({ assignee: me }, 'Assigned to you.');
  const reopen = () => save({ state: 'open' }, 'Open again.');
  return (
    <div class="row">
      <a class="back button quiet icon-only" href={hrefOfFilters({ at: '' })} aria-label="Back to the queue">
        <Icon name="left" />
      </a>
      <Action name="Next" letter="j" act={next} isBusy={isBusy} look="primary" />
      {mayWrite && (
        <>
          <Action name="Done" letter="d" act={() => save({ state: 'done' }, 'Done.')} isBusy={isBusy} />
          <Action name="Ignore" letter="i" act={() => save({ state: 'ignored' }, 'Ignored.')} isBusy={isBusy} />
          {row.review?.assignee !== me && <Action name="Assign to me" letter="a" act={assign} isBusy={isBusy} />}
          {stored.state !== 'open' && (
            <Button disabled={isBusy} onClick={reopen}>
              Open again
            </Button>
          )}
        </>
      )}
      {children}
    </div>
  );
}

/** The cited texts, one at a time. */
function CitedTexts({ resources, of }: { resources: readonly RetrieverResource[]; of: string }) {
  const [shown, show] = useState(-1);
  const found = useList<ReviewListed>(pathOf(['admin', 'reviews'], { message_id: of }));
  const revisions = found.rows[0]?.revisions ?? [];
  const saved = () => void found.refresh(({ message }) => message.id);
  const cited = resources.toSorted((one, other) => one.position - other.position);
  const resource = cited[shown];
  const next = () => show((shown + 1) % cited.length);
  if (cited.length + revisions.length === 0) return null;
  return (
    <div class="stack">
      {cited.length > 0 && (resource === undefined || cited.length > 1) && (
        <div>
          <Action name={resource === undefined ? 'Edit the cited text' : 'Next cited text'} letter="e" act={next} />
        </div>
      )}
      {resource && <h2>Cited: {resource.document_name}</h2>}
      {resource && (
        <ReviewedMessage.Provider value={of}>
          <CitedChunk key={resource.id} resource={resource} saved={saved} />
        </ReviewedMessage.Provider>
      )}
      {revisions.length > 0 && (
        <ul class="plain small" aria-label="Changed during this review">
          {revisions.map(({ name, path, revision, replaced_at }) => (
            <li key={`${path?.at(-1)} ${revision}`}>
              Changed: {path === null ? 'a deleted chunk' : <a href={hrefOf('knowledge', ...path)}>{name}</a>},{' '}
              <span class="soft">
                revision {revision}, <Time at={replaced_at} />
              </span>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

function WrittenFields({ writing: { written, write, isChanged, isBusy, save } }: { writing: Writing }) {
  const mayWrite = useMayWrite('putReview');
  const labels = useRef<HTMLInputElement>(null);
  useShortcut(mayWrite ? 'l' : undefined, 'Label', () => labels.current?.focus());
  const field = (name: keyof typeof written) => ({
    value: written[name],
    readOnly: !mayWrite,
    onInput: ({ currentTarget: { value } }: { currentTarget: { value: string } }) => write({ [name]: value }),
    onKeyDown: leave,
  });
  const maxLength = limits.reviewUnitsMax;
  return (
    <form class="stack card" onSubmit={(event) => event.preventDefault()}>
      <label>
        <span>
          Labels, with commas <kbd>l</kbd>
        </span>
        <input ref={labels} {...field('labels')} />
      </label>
      <label>
        What the answer should have been
        <textarea rows={5} maxLength={maxLength} {...field('expected_answer')} />
      </label>
      <label>
        Note
        <textarea rows={2} maxLength={maxLength} {...field('note')} />
      </label>
      {mayWrite && (
        <div>
          <Button disabled={isBusy || !isChanged} onClick={() => save({}, 'Saved.')}>
            Save
          </Button>
        </div>
      )}
    </form>
  );
}

/** Escape, or Enter in one line, leads back to the shortcuts. */
function leave(event: KeyboardEvent): void {
  const { key, currentTarget } = event;
  const leaves = key === 'Escape' || (key === 'Enter' && currentTarget instanceof HTMLInputElement);
  if (leaves && !event.isComposing && currentTarget instanceof HTMLElement) currentTarget.blur();
}

function stateText({ review }: ReviewListed): string {
  const { state = 'open', assignee = null, assignee_name = null } = review ?? {};
  return `${capital(state)}${assignee === null ? '' : `, assigned to ${assignee_name ?? assignee}`}`;
}

const History = ({ review: { history, message_id } }: { review: Review }) => (
  <Fold class="collapsible small" id={`${message_id} history`} title={`History (${history.length})`}>
    <ol class="plain stack tight">
      {history.map(({ at, state, name, key_id, person_id }, n) => (
        <li key={n}>
          {capital(state)} <span class="soft">{(key_id ?? person_id) ? name : 'feedback or import'}</span>{' '}
          <Time at={at} />
        </li>
      ))}
    </ol>
  </Fold>
);
