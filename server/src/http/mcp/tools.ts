import { listOf } from '../../contract/admin.ts';
import { ActivityListed, ActivityQuery } from '../../contract/audit.ts';
import { AppMessagePath, Overview, OverviewQuery } from '../../contract/console/activity.ts';
import { ReviewListed, ReviewQuery, ReviewResponse } from '../../contract/console/reviews.ts';
import { allows } from '../../contract/people/roles.ts';
import { nullable, text } from '../../contract/primitives.ts';
import { ReviewEdit } from '../../contract/reviews/review.ts';
import { listActivity } from '../../domain/activity/list-activity.ts';
import { findOverview } from '../../domain/activity/overview.ts';
import { listReviews, putReview } from '../../domain/reviews/reviews.ts';
import { knowledgeTools } from './knowledge-tools.ts';
import { messageTools } from './message-tools.ts';
import { type AgentCaller, defineTool, type Tool } from './tool.ts';

const overview = defineTool('overview', ['admin'], 'getOverview', {
  title: 'Get totals of a period',
  description:
    'Messages, users, ratings, failures, tokens and prices of a period (`totals`) and of the equally long period before it ' +
    '(`before`), by day or hour, app, user and model. Use it to see what has changed before looking at single answers.',
  input: OverviewQuery.properties,
  output: Overview.properties,
  run: (query, call) => findOverview(call, query),
});

const listChanges = defineTool('list_changes', ['admin'], 'listActivity', {
  title: 'List changes',
  description:
    'The audit log, newest first: who has created, edited, deleted or imported what, with which key and tool. Use it to find out ' +
    'when a chunk was changed and by whom. A page may be short although more follow: see `has_more`.',
  input: ActivityQuery.properties,
  output: listOf(ActivityListed).properties,
  run: (query, { store }) => listActivity(store, query),
});

const listReviewsTool = defineTool('list_reviews', ['admin'], 'listReviews', {
  title: 'List reviews',
  description:
    'Answers that someone should look at or has reviewed, newest first, with the comment of the user, the citations and the review. ' +
    'Use it with `state: "open"` to find bad answers that are not dealt with yet, and with `label` or `document_id` to find others with ' +
    'the same cause.',
  input: ReviewQuery.properties,
  output: listOf(ReviewListed).properties,
  run: (query, { store, now }) => listReviews(store, query, now),
});

const reviewMessage = defineTool('review_message', ['admin'], 'putReview', {
  title: 'Review a message',
  description:
    'Replaces the review of a message: its state, labels, note, and what the answer should have been. Use it to note what you found out. Absent fields get their defaults, ' +
    'so repeat those that stay. `etag` is that of the review from list_reviews: if it has changed since, nothing is written (412), and ' +
    'the review has to be read again.',
  isWrite: true,
  input: {
    ...AppMessagePath.properties,
    ...ReviewEdit.properties,
    etag: nullable(text('`etag` of the review that is to be replaced; null if the message has none.')),
  },
  output: ReviewResponse.properties,
  run: ({ app_id, conversation_id, message_id, etag, ...edit }, { store, caller, now }) =>
    putReview(store, { app_id, conversation_id, message_id }, edit, {
      precondition: etag === null ? undefined : [etag.replaceAll('"', '')],
      exclusion: etag === null ? 'any' : undefined,
      author: caller.key_id,
      now,
      tool: 'review_message',
    }),
});

/** Every tool. A name may occur once for each kind of key. */
export const tools: readonly Tool[] = [
  ...messageTools,
  listReviewsTool,
  reviewMessage,
  overview,
  ...knowledgeTools,
  listChanges,
];

/** The tools that a key allows. For the others it is as if they did not exist. */
export const toolsFor = (caller: AgentCaller): Tool[] =>
  tools.filter(({ kinds, operation = '', isWrite }) => {
    const mayCall = caller.kind === 'admin' ? allows(caller.role, operation) : true;
    return kinds.includes(caller.kind) && mayCall && !(isWrite && caller.read_only);
  });
