import { limits } from '../../contract/limits.ts';
import { splitAuthor } from '../../domain/author.ts';
import { badRecord, type Prepared } from '../../domain/records/prepared-record.ts';
import type { ReviewChange, ReviewOutcome, StoredReview } from '../../domain/store/reviews.ts';
import { newVersion } from '../../domain/version.ts';
import { reviewEntry } from '../accounting/audit.ts';
import type { WriteContext } from '../base/engine.ts';
import type { OutboxEntry } from '../base/outbox-entry.ts';
import { begin, execute, first, type Write, writeRows } from '../base/statement.ts';
import { changed } from '../changes/changed.ts';
import { changedReview } from '../changes/outbox.ts';
import { findReview, reviewOf } from './rows.ts';
import * as sql from './statements.ts';

/** The message is locked first: two reviewers never write the same version. */
export function* putReview(change: ReviewChange, { dialect }: WriteContext): Write<ReviewOutcome> {
  const { location, fields, precondition, exclusion, version, author, now } = change;
  const { app_id, conversation_id, message_id } = location;
  if ((yield* first(sql.findConversation, conversation_id, app_id)) === undefined) return 'no conversation';
  yield* begin();
  if ((yield* first(sql.lockMessage(dialect), conversation_id, message_id)) === undefined) return 'no message';
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
  yield* execute(sql.setState, state, app_id, conversation_id, message_id);
  yield* writeRows(sql.writeReview, [sql.writeReview.values(review)]);
  return review;
}

const includes = (tags: 'any' | readonly string[], version: string | undefined): boolean =>
  version !== undefined && (tags === 'any' || tags.includes(version));

/** For an import: its message has the state of the review. Throws BadRecord if there is no such message. */
export function* setStateOf(review: Prepared<'review'>): Write<void> {
  const { state, app_id, conversation_id, message_id } = review;
  if ((yield* execute(sql.setState, state, app_id, conversation_id, message_id)) === 0)
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
  const isErased = (yield* execute(sql.deleteReview, conversation_id, message_id)) > 0;
  return isErased ? [changedReview(conversation_id, message_id)] : [];
}
