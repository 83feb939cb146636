import { type ApiError, pathOf, request } from '../state/api.ts';
import type { ConsoleSession, Review, ReviewListed } from '../state/types.ts';

export type Fields = Pick<Review, 'state' | 'labels' | 'note' | 'expected_answer' | 'assignee'>;

const none: Fields = { state: 'open', labels: [], note: null, expected_answer: null, assignee: null };

export function fieldsOf({ review }: ReviewListed): Fields {
  const { state, labels, note, expected_answer, assignee } = review ?? none;
  return { state, labels, note, expected_answer, assignee };
}

/** A claim that was not renewed for this long is free. */
const claimSeconds = 900;

/** Whether this person may take an answer. */
const isFree = ({ review }: ReviewListed, me: string, now = Date.now() / 1000): boolean =>
  !review?.assignee || review.assignee === me || review.updated_at + claimSeconds <= now;

/** The reviewer in this session, as in `assignee`. */
export const reviewerOf = ({ key_id, person_id }: ConsoleSession): string =>
  person_id === null ? `${key_id}` : `person:${person_id}`;

/** Replaces the review that was read. If it has changed since, the service responds 412 and changes nothing. */
export async function saveReview({ message, review }: ReviewListed, fields: Fields): Promise<Review> {
  const { app_id, conversation_id, id } = message;
  const path = pathOf(['admin', 'apps', app_id, 'conversations', conversation_id, 'messages', id, 'review']);
  const headers = review === null ? { 'if-none-match': '*' } : { 'if-match': review.etag };
  return (await request<Review>(path, { method: 'PUT', body: fields, headers })).body;
}

/** Claims the first of these answers that is free, so that two people never work on the same one. Undefined: none is. */
export async function claimFirst(rows: readonly ReviewListed[], me: string): Promise<ReviewListed | undefined> {
  for (const row of rows) {
    const fields = fieldsOf(row);
    if (fields.state !== 'open') return row;
    if (!isFree(row, me)) continue;
    try {
      return { ...row, review: await saveReview(row, { ...fields, assignee: me }) };
    } catch (error) {
      if ((error as ApiError).status !== 412) throw error;
    }
  }
  return undefined;
}
