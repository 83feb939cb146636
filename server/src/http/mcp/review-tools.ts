import { listOf } from '../../contract/admin.ts';
import { ReviewListed, ReviewQuery, ReviewResponse } from '../../contract/console/reviews.ts';
import { nullable, text } from '../../contract/primitives.ts';
import { ReviewEdit } from '../../contract/reviews/review.ts';
import { Type } from '../../contract/type.ts';
import { listReviews, putReview } from '../../domain/reviews/reviews.ts';
import { defineTool } from './tool.ts';

const listReviewsTool = defineTool({
  name: 'list_reviews',
  title: 'List reviews',
  description:
    'Answers that someone should look at or has reviewed, newest first, with the comment of the user, the citations and the review. ' +
    'Use it with `state: "open"` to find bad answers that are not dealt with yet, and with `label` or `document_id` to find others with ' +
    'the same cause.',
  kinds: ['admin'],
  operation: 'listReviews',
  input: ReviewQuery.properties,
  output: listOf(ReviewListed).properties,
  run: (query, { dependencies, now }) => listReviews(dependencies.store, query, now),
});

const reviewMessage = defineTool({
  name: 'review_message',
  title: 'Review a message',
  description:
    'Replaces the review of a message: its state, labels, note, and what the answer should have been. Use it to note what you found out. Absent fields get their defaults, ' +
    'so repeat those that stay. `etag` is that of the review from list_reviews: if it has changed since, nothing is written (412), and ' +
    'the review has to be read again.',
  kinds: ['admin'],
  operation: 'putReview',
  isWrite: true,
  input: {
    app_id: Type.String({ description: 'App ID.' }),
    conversation_id: Type.String({ description: 'Conversation ID.' }),
    message_id: Type.String({ description: 'Message ID.' }),
    ...ReviewEdit.properties,
    etag: nullable(text('`etag` of the review that is to be replaced; null if the message has none.')),
  },
  output: ReviewResponse.properties,
  run: ({ app_id, conversation_id, message_id, etag, ...edit }, { dependencies, caller, now }) =>
    putReview(dependencies.store, { app_id, conversation_id, message_id }, edit, {
      precondition: etag === null ? undefined : [etag.replaceAll('"', '')],
      exclusion: etag === null ? 'any' : undefined,
      author: caller.key_id,
      now,
      tool: 'review_message',
    }),
});

export const reviewTools = [listReviewsTool, reviewMessage];
