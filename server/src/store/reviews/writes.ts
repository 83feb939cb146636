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
import { outboxEntryOfReviews } from '../changes/outbox.ts';
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
  const by = splitAuthor(author);
  const entry = { at: now, ...by, state: fields.state, assignee: fields.assignee };
  const history = [entry, ...(stored?.history ?? [])].slice(0, limits.reviewHistoryMax);
  const review: StoredReview = {
    app_id,
    conversation_id,
    message_id,
    ...fields,
    updated_at: now,
    ...by,
    history,
    version,
  };
  yield* execute(sql.setState, fields.state, app_id, conversation_id, message_id);
  yield* writeRows(sql.writeReview, [sql.writeReview.values(review)]);
  yield* changed({
    audit: [reviewEntry(change, stored === undefined ? 'create' : 'update')],
    outbox: [outboxEntryOfReviews(conversation_id, [message_id])],
    at: now,
    shard: conversation_id,
  });
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

/** A message that is disliked again needs its review again. The transaction has locked its conversation. */
export function* reopenReview(app_id: string, conversation_id: string, message_id: string): Write<OutboxEntry[]> {
  if ((yield* execute(sql.reopen, newVersion(), conversation_id, message_id)) === 0) return [];
  yield* execute(sql.setState, 'open', app_id, conversation_id, message_id);
  return [outboxEntryOfReviews(conversation_id, [message_id])];
}

/** With its message. */
export function* eraseReview(conversation_id: string, message_id: string): Write<OutboxEntry[]> {
  const isErased = (yield* execute(sql.deleteReview, conversation_id, message_id)) > 0;
  return isErased ? [outboxEntryOfReviews(conversation_id, [message_id])] : [];
}
