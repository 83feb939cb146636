import {
  ConversationListed,
  ConversationSummary,
  DetailsQuery,
  LocatedPage,
  LocateQuery,
  MessageDetailsList,
  SummaryQuery,
  TranscriptQuery,
  traceIdMark,
} from '../../contract/console/activity.ts';
import { MessagePage } from '../../contract/message.ts';
import { canonicalId } from '../../contract/primitives.ts';
import { Type } from '../../contract/type.ts';
import { listAllConversations } from '../../domain/activity/list-conversations.ts';
import { requireApp } from '../../domain/activity/require-app.ts';
import { notFound } from '../../domain/errors.ts';
import { listMessages, pageRequest } from '../../domain/messages/list-messages.ts';
import type { StoredDetails } from '../../domain/store/activity-reads.ts';
import { aboutAdmin, header, responses } from '../openapi/openapi.ts';
import { parseIfNoneMatch } from '../request/etag.ts';
import { onDisconnect, pageQuery, sendPage } from '../response/message-page.ts';
import { type Routes, together } from '../route-types.ts';
import { adminGet, adminList } from './routes.ts';

const url = '/admin/apps/:app_id/conversations';
const app_id = Type.String({ description: 'App ID.' });
const conversation_id = Type.String({ description: 'Conversation ID.' });

const lists: Routes = (app, dependencies) => {
  const { store } = dependencies;
  const { activity } = store;

  adminList(app, dependencies, {
    url: '/admin/conversations',
    operationId: 'listAllConversations',
    summary: 'List conversations of all apps',
    description:
      'Latest update first, then by id, descending. `from` and `to` select by the last activity. With `id`: those of these ' +
      'conversations that exist, on one page unless they are large. Deleted conversations are not listed.',
    querystring: SummaryQuery,
    row: ConversationSummary,
    errors: [404],
    run: ({ query }) => listAllConversations(store, query),
  });

  adminGet(app, dependencies, {
    url: `${url}/:conversation_id`,
    operationId: 'getConversation',
    summary: 'Get a conversation of an app',
    params: Type.Object({ app_id, conversation_id }),
    response: ConversationListed,
    errors: [404],
    run: async ({ params }) => {
      const { id } = await requireApp(store, params.app_id);
      const conversation = await activity.findConversation(id, canonicalId(params.conversation_id));
      if (conversation === undefined) throw notFound('conversation not exists');
      return conversation;
    },
  });
};

const transcript: Routes = (app, { store, pages, bearer, page_order }) => {
  app.route({
    method: 'GET',
    url: `${url}/:conversation_id/messages`,
    schema: {
      ...aboutAdmin,
      operationId: 'getTranscript',
      summary: 'List messages of a conversation of any app',
      description: 'Returns the same page as List Conversation Messages, but for apps of any mode.',
      params: Type.Object({ app_id, conversation_id }),
      querystring: TranscriptQuery,
      headers: header('if-none-match', 'ETags of pages that the client has cached.'),
      response: responses({ 200: MessagePage, 304: "The client's cached page is current." }, [400, 401, 404]),
    },
    onRequest: bearer.requireAdmin(),
    handler: async (request, reply) => {
      const { id } = await requireApp(store, request.params.app_id);
      const { conversation_id } = request.params;
      const requestedPage = pageRequest(id, pageQuery({ ...request.query, conversation_id }, page_order));
      const clientTags = parseIfNoneMatch(request.headers['if-none-match']);
      const page = await listMessages(store, pages, requestedPage, clientTags, store.dataVersion(), () =>
        onDisconnect(reply.raw),
      );
      const path = [id, 'conversations', requestedPage.position.conversation_id, 'messages']
        .map(encodeURIComponent)
        .join('/');
      return sendPage(reply, page, `/admin/apps/${path}`);
    },
  });
};

const aboutMessages: Routes = (app, dependencies) => {
  const { store, trace_url } = dependencies;
  const { activity } = store;
  const params = Type.Object({ app_id, conversation_id });

  adminGet(app, dependencies, {
    url: `${url}/:conversation_id/locate`,
    operationId: 'locatePage',
    summary: 'Find the page with a message',
    description:
      'Returns the `first_id` of the page that contains a message, or the beginning of the conversation, so that reading ' +
      'can start there.',
    params,
    querystring: LocateQuery,
    response: LocatedPage,
    errors: [404],
    run: async ({ params, query: { message_id, newer = 0 } }) => {
      const { id } = await requireApp(store, params.app_id);
      const message = message_id === undefined ? undefined : canonicalId(message_id);
      // The page is what is older than `first_id`. Without a message, the first message is the first of the newer ones.
      const distance = newer + (message === undefined ? 2 : 1);
      const conversation = canonicalId(params.conversation_id);
      const first_id = await activity.findNewer(id, conversation, message, distance);
      if (first_id !== undefined) return { first_id };
      const exists = message !== undefined && (await activity.findConversation(id, conversation)) !== undefined;
      throw notFound(`${exists ? 'message' : 'conversation'} not exists`);
    },
  });

  adminGet(app, dependencies, {
    url: `${url}/:conversation_id/details`,
    operationId: 'listMessageDetails',
    summary: 'List what messages have beside their fields',
    description: 'What readers of `/v1` do not see: the text of the feedback, the model, and the address of the trace.',
    params,
    querystring: DetailsQuery,
    response: MessageDetailsList,
    errors: [404],
    run: async ({ params, query }) => {
      const { id } = await requireApp(store, params.app_id);
      const message_ids = query.message_id.map(canonicalId);
      const stored = await activity.listDetails(id, canonicalId(params.conversation_id), message_ids);
      return { data: stored.map((one) => withTraceUrl(one, trace_url)) };
    },
  });
};

function withTraceUrl({ trace_id, ...details }: StoredDetails, template: string | undefined) {
  const url = trace_id === null ? undefined : template?.replace(traceIdMark, encodeURIComponent(trace_id));
  return { ...details, trace_url: url ?? null };
}

/** Conversations of any app, and their messages. */
export const adminConversationRoutes = together(lists, transcript, aboutMessages);
