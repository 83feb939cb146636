import { AppFeedbacks, FeedbackListQuery } from '../../contract/conversation.ts';
import { limits } from '../../contract/limits.ts';
import { listFeedback } from '../../domain/messages/list-feedback.ts';
import { keyGet } from './key-get.ts';

/** Feedback of an app of any mode. */
export const feedbackRoutes = keyGet(['app'], {
  url: '/v1/app/feedbacks',
  tags: ['Conversations'],
  operationId: 'getAppFeedbacks',
  summary: 'List App Feedbacks',
  description: 'Feedback of all messages of the app, newest first, without those of deleted conversations.',
  querystring: FeedbackListQuery,
  response: AppFeedbacks,
  read: ({ query: { page = 1, limit = limits.listRowsDefault }, caller, disconnected, store }) =>
    listFeedback(store, caller.app.id, page, limit, disconnected),
});
