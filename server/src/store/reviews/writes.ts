import { limits } from '../../contract/limits.ts';
import { splitAuthor } from '../../domain/author.ts';
import { badRecord, type Prepared } from '../../domain/records/prepared-record.ts';
import type { ReviewChange, ReviewOutcome, StoredReview } from '../../domain/store/reviews.ts';
import { newVersion } from '../../domain/version.ts';
import { reviewEntry } from '../accounting/audit.ts';
import type { Dialect, WriteContext } from '../base/engine.ts';
import { begin, execute, first, type OutboxEntry, type Statement, type Write, writeRows } from '../base/statement.ts';
import { changed, changedReview } from '../changes/outbox.ts';
import { upsertOf } from '../tables/statements.ts';
import { columnsOf } from '../tables/tables.ts';

/** The columns of the table `r`. Those of a message have the same names, so each begins with `r_`. */
export const reviewColumns = columnsOf('review').map(({ name }) => `r.${name} AS r_${name}`);

type StoredColumns = Omit<StoredReview, 'labels' | 'note' | 'expected_answer' | 'history'> & {
  labels: string;
  details: string | null;
};
export type ReviewColumns = { [Name in keyof StoredColumns as `r_${Name}`]: StoredColumns[Name] };

export const findReview: Statement<ReviewColumns> = `
  SELECT ${reviewColumns.join(', ')} FROM reviews r WHERE r.conversation_id = ?/*@*/ AND r.message_id = ?`;

export function reviewOf(row: ReviewColumns): StoredReview {
  const { note = null, expected_answer = null, history = [] } = JSON.parse(row.r_details ?? '{}');
  return {
    app_id: row.r_app_id,
    conversation_id: row.r_conversation_id,
    message_id: row.r_message_id,
    state: row.r_state,
    labels: JSON.parse(row.r_labels),
    note,
    expected_answer,
    assignee: row.r_assignee,
    updated_at: row.r_updated_at,
    key_id: row.r_key_id,
    person_id: row.r_person_id,
    history,
    version: row.r_version,
  };
}

const findConversation =
  'SELECT conversation_id FROM conversations WHERE conversation_id = ?/*@*/ AND app_id = ? AND deleted = 0';

const lockMessage = ({ lockRows }: Dialect): Statement<{ id: string }> =>
  lockRows('id', 'messages', 'conversation_id = ?/*@*/ AND id = ?', 'review_state');

/** Parameters: state, app_id, conversation_id, id. */
const setState = 'UPDATE messages SET review_state = ?, listed_app_id = ? WHERE conversation_id = ?/*@*/ AND id = ?';

const deleteReview = 'DELETE FROM reviews WHERE conversation_id = ?/*@*/ AND message_id = ?';

const writeReview = upsertOf('review');

/** The message is locked first: two reviewers never write the same version. */
export function* putReview(change: ReviewChange, { dialect }: WriteContext): Write<ReviewOutcome> {
  const { location, fields, precondition, exclusion, version, author, now } = change;
  const { app_id, conversation_id, message_id } = location;
  if ((yield* first(findConversation, conversation_id, app_id)) === undefined) return 'no conversation';
  yield* begin();
  if ((yield* first(lockMessage(dialect), conversation_id, message_id)) === undefined) return 'no message';
  const row = yield* first(findReview, conversation_id, message_id);
  const stored = row === undefined ? undefined : reviewOf(row);
  if (precondition !== undefined && !includes(precondition, stored?.version)) return 'stale';
  if (exclusion !== undefined && includes(exclusion, stored?.version)) return 'stale';
  const changes = { history: stored?.history ?? [], updated_at: now, ...splitAuthor(author), version };
  const review = yield* write({ app_id, conversation_id, message_id, ...fields, ...changes });
  yield* changed({
    audit: [reviewEntry(change, stored === undefined ? 'create' : 'update')],
    outbox: [changedReview(conversation_id, message_id)],
    at: now,
    shard: conversation_id,
  });
  return review;
}

/** The history gets this change. */
function* write(change: StoredReview): Write<StoredReview> {
  const { app_id, conversation_id, message_id, state, assignee, updated_at, key_id, person_id } = change;
  const entry = { at: updated_at, key_id, person_id, state, assignee };
  const review = { ...change, history: [entry, ...change.history].slice(0, limits.reviewHistoryMax) };
  yield* execute(setState, state, app_id, conversation_id, message_id);
  yield* writeRows(writeReview, [writeReview.values(review)]);
  return review;
}

const includes = (tags: 'any' | readonly string[], version: string | undefined): boolean =>
  version !== undefined && (tags === 'any' || tags.includes(version));

/** For an import: its message has the state of the review. Throws BadRecord if there is no such message. */
export function* setStateOf(review: Prepared<'review'>): Write<void> {
  const { state, app_id, conversation_id, message_id } = review;
  if ((yield* execute(setState, state, app_id, conversation_id, message_id)) === 0)
    throw badRecord(review, 'message_id does not exist');
}

/**
 * A message that is disliked again needs its review again. The transaction has written the message, and so has locked it.
 * Feedback that is imported may have no time, or one before the review: the history stays in order.
 */
export function* reopenReview(conversation_id: string, message_id: string, rated_at: number): Write<OutboxEntry[]> {
  const row = yield* first(findReview, conversation_id, message_id);
  if (row?.r_state !== 'done') return [];
  const updated_at = Math.max(rated_at, row.r_updated_at);
  const change = { state: 'open', assignee: null, updated_at, ...splitAuthor(null), version: newVersion() } as const;
  yield* write({ ...reviewOf(row), ...change });
  return [changedReview(conversation_id, message_id)];
}

/** With its message. */
export function* eraseReview(conversation_id: string, message_id: string): Write<OutboxEntry[]> {
  const isErased = (yield* execute(deleteReview, conversation_id, message_id)) > 0;
  return isErased ? [changedReview(conversation_id, message_id)] : [];
}
