import * as contract from '../../contract/console/activity.ts';
import { MessagePage } from '../../contract/message.ts';
import { canonicalId } from '../../contract/primitives.ts';
import { listAllConversations } from '../../domain/activity/list-conversations.ts';
import { requireApp } from '../../domain/activity/require-app.ts';
import { notFound, requireFound } from '../../domain/errors.ts';
import { listMessages, pageRequest } from '../../domain/messages/list-messages.ts';
import type { StoredDetails } from '../../domain/store/activity-reads.ts';
import { header } from '../openapi/openapi.ts';
import { parseIfNoneMatch } from '../request/etag.ts';
import { pageQuery, sendPage } from '../response/message-page.ts';
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
    run: async ({ params, store }) => {
      const { id } = await requireApp(store, params.app_id);
      const conversation = await store.activity.findConversation(id, canonicalId(params.conversation_id));
      return requireFound(conversation, 'conversation not exists');
    },
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
      const requestedPage = pageRequest(id, pageQuery({ ...query, conversation_id }, page_order));
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
    run: async ({ params, query: { message_id, newer = 0 }, store }) => {
      const { id } = await requireApp(store, params.app_id);
      const message = message_id === undefined ? undefined : canonicalId(message_id);
      // The page is what is older than `first_id`. Without a message, the first message is the first of the newer ones.
      const distance = newer + (message === undefined ? 2 : 1);
      const conversation = canonicalId(params.conversation_id);
      const first_id = await store.activity.findNewer(id, conversation, message, distance);
      if (first_id !== undefined) return { first_id };
      const exists = message !== undefined && (await store.activity.findConversation(id, conversation)) !== undefined;
      throw notFound(`${exists ? 'message' : 'conversation'} not exists`);
    },
  }),
  adminObject('listMessageDetails', `${conversationUrl}/details`, {
    summary: 'List what messages have besides their fields',
    description: 'What readers of `/v1` do not see: the text of the feedback, the model, and the address of the trace.',
    params,
    querystring: contract.DetailsQuery,
    response: contract.MessageDetailsList,
    run: async ({ params, query, store, dependencies }) => {
      const { id } = await requireApp(store, params.app_id);
      const message_ids = query.message_id.map(canonicalId);
      const stored = await store.activity.listDetails(id, canonicalId(params.conversation_id), message_ids);
      return { data: stored.map((one) => withTraceUrl(one, dependencies.trace_url)) };
    },
  }),
);

function withTraceUrl({ trace_id, ...details }: StoredDetails, template: string | undefined) {
  const url = trace_id === null ? undefined : template?.replace(contract.traceIdMark, encodeURIComponent(trace_id));
  return { ...details, trace_url: url ?? null };
}
