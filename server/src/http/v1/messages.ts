import { MessagePage, MessageQuery } from '../../contract/message.ts';
import { pageRequest, requireChatApp } from '../../domain/messages/list-messages.ts';
import { requireCaller } from '../auth/bearer.ts';
import { header } from '../openapi/openapi.ts';
import { operation } from '../operation.ts';
import { checkFirst } from '../request/check-first.ts';
import { parseIfNoneMatch } from '../request/etag.ts';
import { messagesPath, pageQuery, sendPage } from '../response/message-page.ts';

/** Before the parameters are validated. */
export const requireChat = checkFirst((request) => requireChatApp(requireCaller(request, 'app').app));

export const messageRoutes = operation(['app'], {
  url: messagesPath,
  tags: ['Conversations'],
  operationId: 'getConversationHistory',
  summary: 'List Conversation Messages',
  description:
    'Messages of a conversation, newest first; `first_id` selects older ones. If there are older messages, the ' +
    'response has a `Link` header with `rel="next"`. Every page has an `ETag`.',
  querystring: MessageQuery,
  headers: header('if-none-match', 'ETags of pages that the client has cached.'),
  response: MessagePage,
  unchanged: "The client's cached page is current.",
  errors: [404],
  onRequest: [requireChat],
  run: async ({ query, caller, disconnected, store, dependencies: { pageReads, page_order } }, reply) => {
    const requestedPage = pageRequest(caller.app.id, pageQuery(query, page_order));
    const clientTags = parseIfNoneMatch(reply.request.headers['if-none-match']);
    const page = await pageReads.list(requestedPage, clientTags, store.dataVersion(), disconnected);
    return sendPage(reply, page, messagesPath);
  },
});
