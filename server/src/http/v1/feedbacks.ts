import { AppFeedbacks, FeedbackListQuery } from '../../contract/conversation.ts';
import { limits } from '../../contract/limits.ts';
import { listFeedback } from '../../domain/messages/list-feedback.ts';
import type { Routes } from '../route-types.ts';
import { keyGet } from './key-get.ts';

/** Feedback of an app of any mode. */
export const feedbackRoutes: Routes = (app, dependencies) => {
  keyGet(app, dependencies, ['app'], {
    url: '/v1/app/feedbacks',
    tags: ['Conversations'],
    operationId: 'getAppFeedbacks',
    summary: 'List App Feedbacks',
    description: 'Feedback of all messages of the app, newest first, without those of deleted conversations.',
    querystring: FeedbackListQuery,
    response: AppFeedbacks,
    read: ({ query: { page = 1, limit = limits.listRowsDefault }, caller, disconnected }) =>
      listFeedback(dependencies.store, caller.app.id, page, limit, disconnected),
  });
};
