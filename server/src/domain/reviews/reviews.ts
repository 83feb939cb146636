import type { ReviewCounts, ReviewListed, ReviewQuery, ReviewResponse } from '../../contract/console/reviews.ts';
import { limits } from '../../contract/limits.ts';
import { canonicalId, canonicalIds } from '../../contract/primitives.ts';
import type { ReviewEdit } from '../../contract/reviews/review.ts';
import { Names } from '../activity/names.ts';
import { requireApp } from '../activity/require-app.ts';
import { personPrefix } from '../author.ts';
import { notFound, ServiceError } from '../errors.ts';
import { type CursorPage, Paging } from '../paging.ts';
import { requireText } from '../require-text.ts';
import type { MessageLocation } from '../store/erasure.ts';
import type { ReviewChange, ReviewRevision, ReviewRow, ReviewSelection, StoredReview } from '../store/reviews.ts';
import type { Store } from '../store/store.ts';
import { newVersion } from '../version.ts';

const daySeconds = 86_400;
type ListedRow = ReviewRow & { revisions: readonly ReviewRevision[] };

const newestFirst = new Paging<ReviewListed>(['number', 'string', 'string'], ({ message }) => [
  message.created_at,
  message.conversation_id,
  message.id,
]);

/** A page of messages with their reviews, and of those that need one, newest message first. `now` is in seconds. */
export async function listReviews(store: Store, query: ReviewQuery, now: number): Promise<CursorPage<ReviewListed>> {
  const selection = await selectReviews(store, query, now);
  return newestFirst.read(query, async (range) => {
    const { rows, has_more } = await store.reviews.list(selection, range);
    const names = new Names();
    for (const { review, revisions } of rows) {
      if (review !== null) addNames(names, review);
      names.add('child_chunk', ...revisions.map(({ child_chunk_id }) => child_chunk_id));
    }
    await names.read(store);
    return { rows: rows.map((row) => listedReview(row, names)), has_more };
  });
}

export const countReviews = async (store: Store, filters: ReviewFilters, now: number): Promise<ReviewCounts> =>
  store.reviews.count(await selectReviews(store, filters, now));

export type ReviewFilters = Partial<Omit<ReviewSelection, 'unreviewedFrom'>>;

/** Throws if there is no such app. */
export async function selectReviews(store: Store, query: ReviewFilters, now: number): Promise<ReviewSelection> {
  const { state, label, app_id, assignee, document_id, message_id, from, to } = query;
  if (app_id !== undefined) await requireApp(store, app_id);
  return {
    ...canonicalIds({ state, label, app_id, document_id, message_id, from, to }),
    assignee: assignee && canonicalId(assignee),
    unreviewedFrom: now - limits.reviewDays * daySeconds,
  };
}

function listedReview({ doc, review, revisions, ...details }: ListedRow, names: Names): ReviewListed {
  const message: ReviewListed['message'] = { ...JSON.parse(doc), ...details };
  const failed = message.status === 'error' ? 'failed' : 'opened';
  const reason = message.feedback?.rating === 'dislike' ? 'disliked' : failed;
  const fixed = revisions.map(({ child_chunk_id, revision, replaced_at }) => {
    const { name = null, path = null } = names.find('child_chunk', child_chunk_id) ?? {};
    return { revision, replaced_at, name, path };
  });
  return { message, review: review && responseOf(review, names), reason, revisions: fixed };
}

const authorOf = ({ key_id, person_id }: { key_id: string | null; person_id: string | null }): string | null =>
  person_id === null ? key_id : `${personPrefix}${person_id}`;

function addNames(names: Names, { assignee, history }: StoredReview): void {
  for (const author of [assignee, ...history.map(authorOf)]) names.addAuthor(author);
}

function responseOf({ version, ...review }: StoredReview, names: Names): ReviewResponse {
  const nameOf = (author: string | null) => {
    const { key_name, person_name } = names.ofAuthor(author);
    return person_name ?? key_name;
  };
  const history = review.history.map((entry) => ({ ...entry, name: nameOf(authorOf(entry)) }));
  return { ...review, history, assignee_name: nameOf(review.assignee), etag: `"${version}"` };
}

type Put = Pick<ReviewChange, 'precondition' | 'exclusion' | 'author' | 'now' | 'tool'>;

/** Replaces the review of a message. Returns once it is on disk. */
export async function putReview(
  store: Store,
  location: MessageLocation,
  edit: ReviewEdit,
  put: Put,
): Promise<ReviewResponse> {
  await requireApp(store, location.app_id);
  const { state = 'open', labels = [], note = null, expected_answer = null, assignee = null } = edit;
  for (const label of labels) requireText('labels', label);
  for (const [field, text] of Object.entries({ note, expected_answer, assignee }))
    requireText(field, text ?? '', limits.reviewUnitsMax);
  const fields = {
    state,
    labels: [...new Set(labels)],
    note,
    expected_answer,
    assignee: assignee && canonicalId(assignee),
  };
  const outcome = await store.run('putReview', {
    ...put,
    location: canonicalIds(location),
    fields,
    version: newVersion(),
  });
  if (outcome === 'stale') throw new ServiceError('precondition_failed', 'the review has changed since it was read');
  if (typeof outcome === 'string') throw notFound(`${outcome.replace('no ', '')} not exists`);
  const names = new Names();
  addNames(names, outcome);
  await names.read(store);
  return responseOf(outcome, names);
}
