import type { ReviewState } from '../../contract/reviews/review.ts';
import type { StoredReview } from '../../domain/store/reviews.ts';
import type { Statement } from '../base/statement.ts';
import { columnsOf } from '../tables/tables.ts';

/** The columns of the table `r`. Those of a message have the same names, so each begins with `r_`. */
export const reviewColumns = columnsOf('review').map(({ name }) => `r.${name} AS r_${name}`);

export type ReviewColumns = {
  r_app_id: string;
  r_conversation_id: string;
  r_message_id: string;
  r_state: ReviewState;
  r_labels: string;
  r_assignee: string | null;
  r_updated_at: number;
  r_key_id: string | null;
  r_person_id: string | null;
  r_version: string;
  r_details: string | null;
};

/** Parameters: conversation_id, message_id. */
export const findReview: Statement<ReviewColumns> = `
  SELECT ${reviewColumns.join(', ')} FROM reviews r WHERE r.conversation_id = ? AND r.message_id = ?`;

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
