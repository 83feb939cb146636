import { AppMessagePath } from '../../contract/console/activity.ts';
import * as contract from '../../contract/console/reviews.ts';
import { ReviewEdit } from '../../contract/reviews/review.ts';
import { Type } from '../../contract/type.ts';
import { exportEvals } from '../../domain/reviews/evals.ts';
import { countReviews, listReviews, putReview } from '../../domain/reviews/reviews.ts';
import { header, textResponse } from '../openapi/openapi.ts';
import { operation } from '../operation.ts';
import { parseIfMatch } from '../request/etag.ts';
import { sendLargePage } from '../response/large-page.ts';
import { together } from '../route-types.ts';
import { adminObject, messageUrl } from './routes.ts';

const ndjson = 'application/x-ndjson';

/** Reviews of answers. */
export const adminReviewRoutes = together(
  adminObject('listReviews', '/admin/reviews', {
    summary: 'List reviews',
    description:
      'Messages with a review, and messages of the last 30 days that were disliked or whose generation failed and that ' +
      'have none: these are open. Newest message first. Messages of deleted conversations are excluded.',
    querystring: contract.ReviewQuery,
    response: contract.ReviewPage,
    errors: [404],
    run: async ({ query, now, store }) => {
      const page = await listReviews(store, query, now);
      return { ...page, cursor: page.next_cursor };
    },
  }),
  adminObject('countReviews', '/admin/reviews/counts', {
    summary: 'Count reviews',
    description: 'How many messages are open, and how often each label was given.',
    querystring: contract.ReviewCountsQuery,
    response: contract.ReviewCounts,
    errors: [404],
    run: ({ query, now, store }) => countReviews(store, query, now),
  }),
  operation('putReview', ['admin'], 'PUT', `${messageUrl}/review`, {
    summary: 'Replace the review of a message',
    description:
      'Absent fields get their defaults. To claim a message for a person, send `assignee` with `If-None-Match: *`, or with ' +
      '`If-Match` if it has a review: of two reviewers one gets 412, and takes the next one. A claim is free 15 minutes ' +
      'after `updated_at`. Feedback with which a user dislikes the answer again opens a review that is done.',
    params: AppMessagePath,
    headers: Type.Object({
      ...header('if-match', '`etag` of the review that may be replaced, or `*`.').properties,
      ...header('if-none-match', '`*`: only if there is no review.').properties,
    }),
    body: ReviewEdit,
    response: contract.ReviewResponse,
    errors: [404, 412],
    run: async ({ params, body, caller, now, store }, reply) => {
      const { headers } = reply.request;
      const conditions = {
        precondition: parseIfMatch(headers['if-match']),
        exclusion: parseIfMatch(headers['if-none-match']),
        author: caller.key_id,
        now,
      };
      const review = await putReview(store, params, body, conditions);
      return reply.header('etag', review.etag).send(review);
    },
  }),
  adminObject('exportEvals', '/admin/evals.jsonl', {
    summary: 'Export evaluation sets',
    description:
      'One test case of promptfoo in each line, for each review that is `done` and has an expected answer, newest message ' +
      'first. `vars`: `input` (up to 10 messages before it, and the question), `actual` (the answer), `context` (the cited ' +
      'texts). `assert` compares a new answer with the expected one. `metadata`: app, message, model, labels, times. ' +
      'Messages of deleted conversations are excluded.',
    querystring: contract.EvalQuery,
    response: textResponse(ndjson, 'NDJSON, one test case per line.'),
    errors: [403, 404],
    run: async ({ query, disconnected, store }, reply) => {
      const lines = await exportEvals(store, query, query.redact === '1', disconnected());
      return sendLargePage(reply.header('content-type', ndjson), lines);
    },
  }),
);
