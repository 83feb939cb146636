import * as contract from '../../contract/console/activity.ts';
import { MessagePage } from '../../contract/message.ts';
import {
  findConversation,
  listAllConversations,
  listMessageDetails,
  locatePage,
} from '../../domain/activity/list-conversations.ts';
import { requireApp } from '../../domain/activity/require-app.ts';
import { listMessages, pageRequest } from '../../domain/messages/list-messages.ts';
import { header } from '../openapi/openapi.ts';
import { parseIfNoneMatch } from '../request/etag.ts';
import { sendPage } from '../response/message-page.ts';
import { together } from '../route-types.ts';
import { adminObject, adminPage, conversationUrl } from './routes.ts';

const params = contract.AppConversationPath;

/** Conversations of any app, and their messages. */
export const adminConversationRoutes = together(
  adminPage('listAllConversations', '/admin/conversations', {
    summary: 'List conversations of all apps',
    description:
      'Latest update first, then by id, descending. `from` and `to` select by the last activity. With `id`: those of these ' +
      'conversations that exist, on one page unless they are large. Deleted conversations are not listed.',
    querystring: contract.SummaryQuery,
    row: contract.ConversationSummary,
    errors: [404],
    run: ({ query, store }) => listAllConversations(store, query),
  }),
  adminObject('getConversation', conversationUrl, {
    summary: 'Get a conversation of an app',
    params,
    response: contract.ConversationListed,
    run: ({ params, store }) => findConversation(store, params),
  }),
  adminObject('getTranscript', `${conversationUrl}/messages`, {
    summary: 'List messages of a conversation of any app',
    description: 'Returns the same page as List Conversation Messages, but for apps of any mode.',
    params,
    querystring: contract.TranscriptQuery,
    headers: header('if-none-match', 'ETags of pages that the client has cached.'),
    response: MessagePage,
    unchanged: "The client's cached page is current.",
    run: async ({ params, query, disconnected, store, dependencies: { pages, page_order } }, reply) => {
      const { id } = await requireApp(store, params.app_id);
      const { conversation_id } = params;
      const requestedPage = pageRequest(id, { ...query, conversation_id }, page_order);
      const clientTags = parseIfNoneMatch(reply.request.headers['if-none-match']);
      const page = await listMessages(store, pages, requestedPage, clientTags, store.dataVersion(), disconnected);
      const path = [id, 'conversations', requestedPage.position.conversation_id, 'messages']
        .map(encodeURIComponent)
        .join('/');
      return sendPage(reply, page, `/admin/apps/${path}`);
    },
  }),
  adminObject('locatePage', `${conversationUrl}/locate`, {
    summary: 'Find the page with a message',
    description:
      'Returns the `first_id` of the page that contains a message, or the beginning of the conversation, so that reading ' +
      'can start there.',
    params,
    querystring: contract.LocateQuery,
    response: contract.LocatedPage,
    run: ({ params, query, store }) => locatePage(store, params, query),
  }),
  adminObject('listMessageDetails', `${conversationUrl}/details`, {
    summary: 'List what messages have besides their fields',
    description: 'What readers of `/v1` do not see: the text of the feedback, the model, and the address of the trace.',
    params,
    querystring: contract.DetailsQuery,
    response: contract.MessageDetailsList,
    run: async ({ params, query, store, dependencies: { trace_url } }) => ({
      data: await listMessageDetails(store, params, query.message_id, trace_url),
    }),
  }),
);
