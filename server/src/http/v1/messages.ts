import { MessagePage, MessageQuery } from '../../contract/message.ts';
import { pageRequest } from '../../domain/messages/list-messages.ts';
import { header } from '../openapi/openapi.ts';
import { operation, requireChat } from '../operation.ts';
import { parseIfNoneMatch } from '../request/etag.ts';
import { messagesPath, sendPage } from '../response/message-page.ts';

export const messageRoutes = operation('getConversationHistory', ['app'], 'GET', messagesPath, {
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
  run: async ({ query, caller, disconnected, dependencies: { pageReads, page_order } }, reply) => {
    const requestedPage = pageRequest(caller.app.id, query, page_order);
    const clientTags = parseIfNoneMatch(reply.request.headers['if-none-match']);
    const dataVersion = pageReads.dataVersion(query.conversation_id);
    const page = await pageReads.list(requestedPage, clientTags, dataVersion, disconnected);
    return sendPage(reply, page, messagesPath);
  },
});
