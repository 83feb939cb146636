import type { Static } from 'typebox';
import { Result } from '../../contract/app.ts';
import {
  Conversation,
  ConversationListQuery,
  type ConversationOrder,
  ConversationPage,
  ConversationPath,
  Deletion,
  MessagePath,
  Rating,
  Rename,
} from '../../contract/conversation.ts';
import { limits } from '../../contract/limits.ts';
import { canonicalId } from '../../contract/primitives.ts';
import { decodeCursor, encodeCursor, invalidCursor } from '../../domain/cursor.ts';
import { ServiceError } from '../../domain/errors.ts';
import {
  deleteConversation,
  listConversations,
  rateMessage,
  renameConversation,
} from '../../domain/messages/conversations.ts';
import type { ConversationPosition } from '../../domain/store/app-store.ts';
import { operation } from '../operation.ts';
import { optionalBody } from '../request/body.ts';
import { linkToNext } from '../request/link.ts';
import { sendJson } from '../response/large-page.ts';
import { together } from '../route-types.ts';
import { requireChat } from './messages.ts';

const tags = ['Conversations'];
const listPath = '/v1/conversations';

/** The position that a request names by a cursor, or else by a conversation. */
function positionIn(
  { cursor, first_id, last_id = first_id }: Static<typeof ConversationListQuery>,
  order: ConversationOrder,
): ConversationPosition | undefined {
  if (cursor === undefined) return last_id === undefined ? undefined : { id: canonicalId(last_id), value: undefined };
  const [cursorOrder, value, id] = decodeCursor(cursor, ['string', 'number', 'string']);
  if (cursorOrder !== order) throw invalidCursor();
  return { id: id as string, value: value as number };
}

const suggestedQuestions = operation(['app'], {
  url: '/v1/messages/:message_id/suggested',
  tags,
  operationId: 'getSuggestedQuestions',
  summary: 'Get Suggested Questions',
  description: 'Always fails with `bad_request`, because the service runs no model. With an upstream, it is passed on.',
  params: MessagePath,
  errors: [400],
  onRequest: [requireChat],
  run: () => {
    throw new ServiceError('bad_request', 'Suggested Questions Is Disabled.');
  },
});

export const conversationRoutes = together(
  operation(['app'], {
    url: listPath,
    tags,
    operationId: 'getConversations',
    summary: 'List Conversations',
    description:
      'Conversations of the app, or of one of its users. `last_id` selects those after a conversation of an earlier page. ' +
      'If others follow, the response has a `Link` header with `rel="next"`. Its `cursor` lists every conversation that ' +
      'does not move exactly once, even if the last one of a page moves or is deleted.',
    querystring: ConversationListQuery,
    response: ConversationPage,
    errors: [404],
    onRequest: [requireChat],
    run: async ({ query, caller, disconnected, store }, reply) => {
      const { user, limit = limits.listRowsDefault, sort_by: order = '-updated_at' } = query;
      const { created_after, created_before } = query;
      const after = positionIn(query, order);
      const listed = { user, after, order, limit, created_after, created_before };
      const { page, next } = await listConversations(store, caller.app.id, listed, disconnected);
      if (next?.value !== undefined) {
        const cursor = encodeCursor([order, next.value, next.id]);
        reply.header('link', linkToNext(listPath, reply.request.url, 'cursor', cursor, ['last_id', 'first_id']));
      }
      return sendJson(reply, page);
    },
  }),
  operation(['app'], {
    method: 'POST',
    url: '/v1/conversations/:conversation_id/name',
    tags,
    operationId: 'renameConversation',
    summary: 'Rename Conversation',
    description: 'Sets the name of a conversation, or derives it from the first query again.',
    params: ConversationPath,
    body: Rename,
    response: Conversation,
    onRequest: [requireChat],
    run: async ({ params, body, caller, now, store }, reply) =>
      sendJson(reply, await renameConversation(store, caller, params.conversation_id, body, now)),
  }),
  operation(['app'], {
    method: 'DELETE',
    url: '/v1/conversations/:conversation_id',
    tags,
    operationId: 'deleteConversation',
    summary: 'Delete Conversation',
    description: 'Marks a conversation as deleted: it and its messages no longer exist for readers.',
    params: ConversationPath,
    optionalBody: Deletion,
    response: 'The conversation was deleted.',
    onRequest: [requireChat],
    run: async ({ params, caller, now, store }, { request }) => {
      const { user } = (await optionalBody(request, Deletion)) ?? {};
      await deleteConversation(store, caller, params.conversation_id, user, now);
    },
  }),
  operation(['app'], {
    method: 'POST',
    url: '/v1/messages/:message_id/feedbacks',
    tags,
    operationId: 'rateMessage',
    summary: 'Submit Message Feedback',
    description: 'Rates a message of an app of any mode, or removes the rating. Readers see it at once.',
    params: MessagePath,
    body: Rating,
    response: Result,
    run: async ({ params, body, caller, now, store }) => {
      await rateMessage(store, caller, params.message_id, body, now);
      return { result: 'success' };
    },
  }),
  // An upstream may have them.
  (app, dependencies) => {
    if (dependencies.upstream === undefined) suggestedQuestions(app, dependencies);
  },
);
