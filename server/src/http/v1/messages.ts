import { MessagePage, MessageQuery } from '../../contract/message.ts';
import { pageRequest, requireChatApp } from '../../domain/messages/list-messages.ts';
import { requireCaller } from '../auth/bearer.ts';
import { header, responses } from '../openapi/openapi.ts';
import { parseIfNoneMatch } from '../request/etag.ts';
import { messagesPath, onDisconnect, pageQuery, sendPage } from '../response/message-page.ts';
import type { Routes } from '../route-types.ts';

export const messageRoutes: Routes = (app, { store, pageReads, bearer, page_order }) => {
  app.route({
    method: 'GET',
    url: messagesPath,
    schema: {
      operationId: 'getConversationHistory',
      summary: 'List Conversation Messages',
      description:
        'Messages of a conversation, newest first; `first_id` selects older ones. If there are older messages, the ' +
        'response has a `Link` header with `rel="next"`. Every page has an `ETag`.',
      tags: ['Conversations'],
      security: [{ appKey: [] }],
      querystring: MessageQuery,
      headers: header('if-none-match', 'ETags of pages that the client has cached.'),
      response: responses({ 200: MessagePage, 304: "The client's cached page is current." }, [400, 401, 404]),
    },
    onRequest: bearer.requireKey(['app']),
    preValidation: async (request) => requireChatApp(requireCaller(request, 'app').app),
    handler: async (request, reply) => {
      const { app } = requireCaller(request, 'app');
      const requestedPage = pageRequest(app.id, pageQuery(request.query, page_order));
      const clientTags = parseIfNoneMatch(request.headers['if-none-match']);
      const disconnected = () => onDisconnect(reply.raw);
      const page = await pageReads.list(requestedPage, clientTags, store.dataVersion(), disconnected);
      return sendPage(reply, page, messagesPath);
    },
  });
};
