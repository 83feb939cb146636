import type { Static } from 'typebox';
import { Result } from '../../contract/app.ts';
import * as contract from '../../contract/conversation.ts';
import { limits } from '../../contract/limits.ts';
import { canonicalId } from '../../contract/primitives.ts';
import { decodeCursor, encodeCursor, invalidCursor } from '../../domain/cursor.ts';
import { ServiceError } from '../../domain/errors.ts';
import * as conversations from '../../domain/messages/conversations.ts';
import { searchUserMessages } from '../../domain/search/search-pages.ts';
import type { ConversationPosition } from '../../domain/store/app-store.ts';
import { keyGet, operation, requireChat } from '../operation.ts';
import { optionalBody } from '../request/body.ts';
import { linkToNext } from '../request/link.ts';
import { sendJson } from '../response/large-page.ts';
import { together } from '../route-types.ts';

const listPath = '/v1/conversations';

/** The position that a request names by a cursor, or else by a conversation. */
function positionIn(
  { cursor, first_id, last_id = first_id }: Static<typeof contract.ConversationListQuery>,
  order: contract.ConversationOrder,
): ConversationPosition | undefined {
  if (cursor === undefined) return last_id === undefined ? undefined : { id: canonicalId(last_id), value: undefined };
  const [cursorOrder, value, id] = decodeCursor(cursor, ['string', 'number', 'string']);
  if (cursorOrder !== order) throw invalidCursor();
  return { id: id as string, value: value as number };
}

const suggestedQuestions = operation('getSuggestedQuestions', ['app'], 'GET', '/v1/messages/:message_id/suggested', {
  summary: 'Get Suggested Questions',
  description: 'Always fails with `bad_request`, because the service runs no model. With an upstream, it is passed on.',
  params: contract.MessagePath,
  errors: [400],
  onRequest: [requireChat],
  run: () => {
    throw new ServiceError('bad_request', 'Suggested Questions Is Disabled.');
  },
});

export const conversationRoutes = together(
  operation('getConversations', ['app'], 'GET', listPath, {
    summary: 'List Conversations',
    description:
      'Conversations of the app, or of one of its users. `last_id` selects those after a conversation of an earlier page. ' +
      'If others follow, the response has a `Link` header with `rel="next"`. Its `cursor` lists every conversation that ' +
      'does not move exactly once, even if the last one of a page moves or is deleted.',
    querystring: contract.ConversationListQuery,
    response: contract.ConversationPage,
    errors: [404],
    onRequest: [requireChat],
    run: async (request, reply) => {
      const { query } = request;
      const { user, limit = limits.listRowsDefault, sort_by: order = '-updated_at' } = query;
      const { created_after, created_before } = query;
      const after = positionIn(query, order);
      const parameters = { user, after, order, limit, created_after, created_before };
      const { page, next } = await conversations.listConversations(request, parameters);
      if (next?.value !== undefined) {
        const cursor = encodeCursor([order, next.value, next.id]);
        reply.header('link', linkToNext(listPath, reply.request.url, 'cursor', cursor, ['last_id', 'first_id']));
      }
      return sendJson(reply, page);
    },
  }),
  operation('renameConversation', ['app'], 'POST', '/v1/conversations/:conversation_id/name', {
    summary: 'Rename Conversation',
    description: 'Sets the name of a conversation, or derives it from the first query again.',
    params: contract.ConversationPath,
    body: contract.Rename,
    response: contract.Conversation,
    onRequest: [requireChat],
    run: async (call, reply) =>
      sendJson(reply, await conversations.renameConversation(call, call.params.conversation_id, call.body)),
  }),
  operation('deleteConversation', ['app'], 'DELETE', '/v1/conversations/:conversation_id', {
    summary: 'Delete Conversation',
    description: 'Marks a conversation as deleted: it and its messages no longer exist for readers.',
    params: contract.ConversationPath,
    optionalBody: contract.Deletion,
    response: 'The conversation was deleted.',
    onRequest: [requireChat],
    run: async (call, { request }) => {
      const { user } = (await optionalBody(request, contract.Deletion)) ?? {};
      await conversations.deleteConversation(call, call.params.conversation_id, user);
    },
  }),
  operation('rateMessage', ['app'], 'POST', '/v1/messages/:message_id/feedbacks', {
    summary: 'Submit Message Feedback',
    description: 'Rates a message of an app of any mode, or removes the rating. Readers see it at once.',
    params: contract.MessagePath,
    body: contract.Rating,
    response: Result,
    run: async (request) => {
      await conversations.rateMessage(request, request.params.message_id, request.body);
      return { result: 'success' };
    },
  }),
  // An upstream may have them.
  (app, dependencies) => {
    if (dependencies.upstream === undefined) suggestedQuestions(app, dependencies);
  },
  keyGet('getAppFeedbacks', ['app'], '/v1/app/feedbacks', {
    summary: 'List App Feedbacks',
    description: 'Feedback of all messages of the app, newest first, without those of deleted conversations.',
    querystring: contract.FeedbackListQuery,
    response: contract.AppFeedbacks,
    read: (request) => {
      const { page = 1, limit = limits.listRowsDefault } = request.query;
      return conversations.listFeedback(request, page, limit);
    },
  }),
  operation('searchUserMessages', ['app'], 'GET', '/v1/messages/search', {
    summary: 'Search Messages of a User',
    description:
      'Messages of one user of the app, newest first. A change is found about a second after it was made. A page may have ' +
      'fewer rows than `limit` although more follow. 404 if the setting `SEARCH` or `CHANGES` is `off`.',
    querystring: contract.MessageSearchQuery,
    response: contract.FoundMessages,
    errors: [404],
    run: ({ query, caller, disconnected, dependencies }) =>
      searchUserMessages(dependencies, caller.app.id, query, disconnected()),
  }),
);
