import { AppFeedbacks, FeedbackListQuery } from '../../contract/conversation.ts';
import { limits } from '../../contract/limits.ts';
import { listFeedback } from '../../domain/messages/list-feedback.ts';
import { requireCaller } from '../auth/bearer.ts';
import { responses } from '../openapi/openapi.ts';
import type { Routes } from '../route-types.ts';

/** Feedback of an app of any mode. */
export const feedbackRoutes: Routes = (app, { store, bearer }) => {
  app.route({
    method: 'GET',
    url: '/v1/app/feedbacks',
    schema: {
      tags: ['Conversations'],
      security: [{ appKey: [] }],
      operationId: 'getAppFeedbacks',
      summary: 'List App Feedbacks',
      description: 'Feedback of all messages of the app, newest first, without those of deleted conversations.',
      querystring: FeedbackListQuery,
      response: responses({ 200: AppFeedbacks }, [400, 401]),
    },
    onRequest: bearer.requireKey(['app']),
    handler: async (request) => {
      const { page = 1, limit = limits.listRowsDefault } = request.query;
      return { data: await listFeedback(store, requireCaller(request, 'app').app.id, page, limit) };
    },
  });
};
