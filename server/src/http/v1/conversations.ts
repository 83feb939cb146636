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
import { requireChatApp } from '../../domain/messages/list-messages.ts';
import type { ConversationPosition } from '../../domain/store/app-store.ts';
import { requireCaller } from '../auth/bearer.ts';
import { responses } from '../openapi/openapi.ts';
import { optionalBody, requireContentType } from '../request/body.ts';
import { checkFirst } from '../request/check-first.ts';
import { linkToNext } from '../request/link.ts';
import { sendJson } from '../response/large-page.ts';
import { onDisconnect } from '../response/message-page.ts';
import { type Routes, together } from '../route-types.ts';

const about = { tags: ['Conversations'], security: [{ appKey: [] }] };
const writeErrors = [400, 401, 403, 404, 408, 413, 415];

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

const requireChat = checkFirst((request) => requireChatApp(requireCaller(request, 'app').app));

const listRoute: Routes = (app, { store, bearer }) => {
  app.route({
    method: 'GET',
    url: listPath,
    schema: {
      ...about,
      operationId: 'getConversations',
      summary: 'List Conversations',
      description:
        'Conversations of the app, or of one of its users. `last_id` selects those after a conversation of an earlier page. ' +
        'If others follow, the response has a `Link` header with `rel="next"`. Its `cursor` lists every conversation that ' +
        'does not move exactly once, even if the last one of a page moves or is deleted.',
      querystring: ConversationListQuery,
      response: responses({ 200: ConversationPage }, [400, 401, 404]),
    },
    onRequest: [bearer.requireKey(['app']), requireChat],
    handler: async (request, reply) => {
      const { user, limit = limits.listRowsDefault, sort_by: order = '-updated_at' } = request.query;
      const { created_after, created_before } = request.query;
      const after = positionIn(request.query, order);
      const { app } = requireCaller(request, 'app');
      const disconnected = () => onDisconnect(reply.raw);
      const listed = { user, after, order, limit, created_after, created_before };
      const { page, next } = await listConversations(store, app.id, listed, disconnected);
      if (next?.value !== undefined) {
        const cursor = encodeCursor([order, next.value, next.id]);
        reply.header('link', linkToNext(listPath, request.url, 'cursor', cursor, ['last_id', 'first_id']));
      }
      return sendJson(reply, page);
    },
  });
};

const editRoutes: Routes = (app, { store, bearer, clock }) => {
  const requireApp = bearer.requireKey(['app']);
  const seconds = () => Math.floor(clock() / 1000);

  app.route({
    method: 'POST',
    url: '/v1/conversations/:conversation_id/name',
    schema: {
      ...about,
      operationId: 'renameConversation',
      summary: 'Rename Conversation',
      description: 'Sets the name of a conversation, or derives it from the first query again.',
      params: ConversationPath,
      body: Rename,
      response: responses({ 200: Conversation }, writeErrors),
    },
    onRequest: [requireApp, requireChat, requireContentType('application/json')],
    handler: async (request, reply) => {
      const { conversation_id } = request.params;
      const caller = requireCaller(request, 'app');
      const renamed = await renameConversation(store, caller, conversation_id, request.body, seconds());
      return sendJson(reply, renamed);
    },
  });

  app.route({
    method: 'DELETE',
    url: '/v1/conversations/:conversation_id',
    schema: {
      ...about,
      operationId: 'deleteConversation',
      summary: 'Delete Conversation',
      description: 'Marks a conversation as deleted: it and its messages no longer exist for readers.',
      params: ConversationPath,
      optionalBody: Deletion,
      response: responses({ 204: 'The conversation was deleted.' }, writeErrors),
    },
    onRequest: [requireApp, requireChat],
    handler: async (request, reply) => {
      const { user } = (await optionalBody(request, Deletion)) ?? {};
      const { conversation_id } = request.params;
      await deleteConversation(store, requireCaller(request, 'app'), conversation_id, user, seconds());
      return reply.code(204).send();
    },
  });
};

const ratingRoute: Routes = (app, { store, bearer, clock }) => {
  app.route({
    method: 'POST',
    url: '/v1/messages/:message_id/feedbacks',
    schema: {
      ...about,
      operationId: 'rateMessage',
      summary: 'Submit Message Feedback',
      description: 'Rates a message of an app of any mode, or removes the rating. Readers see it at once.',
      params: MessagePath,
      body: Rating,
      response: responses({ 200: Result }, writeErrors),
    },
    onRequest: [bearer.requireKey(['app']), requireContentType('application/json')],
    handler: async (request) => {
      const { message_id } = request.params;
      const now = Math.floor(clock() / 1000);
      await rateMessage(store, requireCaller(request, 'app'), message_id, request.body, now);
      return { result: 'success' };
    },
  });
};

const suggestedRoute: Routes = (app, { bearer, upstream }) => {
  // An upstream may have them.
  if (upstream !== undefined) return;
  app.route({
    method: 'GET',
    url: '/v1/messages/:message_id/suggested',
    schema: {
      ...about,
      operationId: 'getSuggestedQuestions',
      summary: 'Get Suggested Questions',
      description:
        'Always fails with `bad_request`, because the service runs no model. With an upstream, it is passed on.',
      params: MessagePath,
      response: responses({}, [400, 401]),
    },
    onRequest: [bearer.requireKey(['app']), requireChat],
    handler: async () => {
      throw new ServiceError('bad_request', 'Suggested Questions Is Disabled.');
    },
  });
};

export const conversationRoutes = together(listRoute, editRoutes, ratingRoute, suggestedRoute);
