import type { ReviewCounts, ReviewQuery, ReviewResponse } from '../../contract/console/reviews.ts';
import type { ReviewEdit } from '../../contract/reviews/review.ts';
import type { Opened } from '../large-text.ts';
import type { ListRange } from './admin-reads.ts';
import type { Precondition } from './child-chunks.ts';
import type { MessageLocation } from './erasure.ts';
import type { SelectedMessage } from './selection.ts';

/** Writes a review. */
export type ReviewChange = {
  location: MessageLocation;
  fields: Required<ReviewEdit>;
  precondition: Precondition;
  /** Tags that the stored review must not have; `any`: there must be no review. */
  exclusion: Precondition;
  /** The version that it gets. */
  version: string;
  author: string | null;
  now: number;
  /** The tool of an agent, for the audit log. */
  tool?: string | undefined;
};

/** A review as a record, with its version. */
export type StoredReview = Omit<ReviewResponse, 'history' | 'assignee_name' | 'etag'> & {
  history: Omit<ReviewResponse['history'][number], 'name'>[];
  version: string;
};

export type ReviewOutcome = StoredReview | 'no conversation' | 'no message' | 'stale';

/** Which reviews. Without a review, messages since `unreviewedFrom` that need one are open. `to` is not included. */
export type ReviewSelection = { [N in keyof Filters]-?: Filters[N] | undefined } & { unreviewedFrom: number };
type Filters = Omit<ReviewQuery, 'limit' | 'cursor'>;

/** A message with its review. */
export type ReviewRow = SelectedMessage & { app_id: string; review: StoredReview | null };

/** A text that was replaced during the review of a message. */
export type ReviewRevision = { child_chunk_id: string; revision: number; replaced_at: number };

/** An answer with a review that says what it should have been, and the texts of the messages before it, oldest first. */
export type ReviewedAnswer = ReviewRow & { review: StoredReview; earlier: string[] };

export interface Reviews {
  /** Of conversations that are not deleted, newest message first. The sort key is created_at, conversation_id and id. */
  list(
    selection: ReviewSelection,
    range: ListRange,
  ): Promise<{
    rows: (ReviewRow & { revisions: ReviewRevision[] })[];
    has_more: boolean;
  }>;
  /** Of the same: open ones, and labels in any state. Counts stop at `limits.reviewsCountedMax` of each state. */
  count(selection: ReviewSelection): Promise<ReviewCounts>;
  /** Those with an expected answer, from one snapshot, with flat memory. See `Exports`. */
  evals(selection: ReviewSelection, signal: AbortSignal): Promise<Opened<ReviewedAnswer>>;
}
