import type { Static } from 'typebox';
import { listOf } from '../../contract/admin.ts';
import { ConversationSummary, SummaryQuery } from '../../contract/console/activity.ts';
import { SearchHit, SearchQuery } from '../../contract/console/search.ts';
import { MessagePage, MessageQuery } from '../../contract/message.ts';
import { canonicalId, described, flag, id, list, nullable, shape, text } from '../../contract/primitives.ts';
import { Type } from '../../contract/type.ts';
import { listAllConversations } from '../../domain/activity/list-conversations.ts';
import { requireApp } from '../../domain/activity/require-app.ts';
import { notFound } from '../../domain/errors.ts';
import { listMessages, pageRequest, requireChatApp } from '../../domain/messages/list-messages.ts';
import { type CursorPage, readAll } from '../../domain/paging.ts';
import { searchMessages } from '../../domain/search/search-pages.ts';
import { defineTool, type ToolCall, tooLargeForTool } from './tool.ts';

const { app_id, id: _, ...conversationFilters } = SummaryQuery.properties;
const { app_id: searchedApp, in: __, dataset_id: ___, ...messageFilters } = SearchQuery.properties;

/** A hit with its address in the console. */
export const LinkedHit = described('A message.', {
  ...SearchHit.properties,
  url: text('Address of the message in the console.'),
});

/** The app that a call is limited to: that of an app key, or the one that is given with an admin key. */
function appOf({ caller }: ToolCall, appId: string | undefined): string | undefined {
  if (caller.kind !== 'app') return appId;
  requireChatApp(caller.app);
  return caller.app.id;
}

/** A page of messages with their addresses. */
export async function searchLinked(
  call: ToolCall,
  query: Static<typeof SearchQuery>,
): Promise<CursorPage<SearchHit & { url: string }>> {
  const { dependencies, disconnected } = call;
  const page = await searchMessages(dependencies, query, disconnected());
  return {
    ...page,
    data: page.data.map((hit) => ({
      ...hit,
      url: consoleUrl(call, ['conversations', hit.app_id, hit.conversation_id, hit.message_id]),
    })),
  };
}

/** An address in the console. Without `PUBLIC_URL` it is relative to this server. */
export const consoleUrl = ({ dependencies }: ToolCall, parts: readonly string[]): string =>
  `${dependencies.public_url ?? ''}/console#/${parts.map(encodeURIComponent).join('/')}`;

const listConversations = defineTool('list_conversations', ['app', 'admin'], 'listAllConversations', {
  title: 'List conversations',
  description:
    'Conversations, latest activity first, with counts of disliked and failed answers, price and newest text. Use it to find ' +
    'conversations of a user, app or period. With `disliked` or `failed`, `from` and `to` are about the time of such an answer.',
  input: {
    ...conversationFilters,
    disliked: Type.Optional(flag('Only conversations with an answer that the user disliked.')),
    failed: Type.Optional(flag('Only conversations with an answer whose generation failed.')),
  },
  adminInput: { app_id },
  output: listOf(ConversationSummary).properties,
  run: async ({ disliked, failed, app_id: appId, ...query }, call) => {
    const { store } = call;
    const inApp = { ...query, ...withApp(appOf(call, appId)) };
    if (!disliked && !failed) return listAllConversations(store, inApp);
    if (appId !== undefined) await requireApp(store, appId);
    const hits = await searchMessages(
      call.dependencies,
      { ...inApp, group: 'conversation', ...(disliked && { rating: 'dislike' }), ...(failed && { status: 'error' }) },
      call.disconnected(),
    );
    const ids = hits.data.map(({ conversation_id }) => conversation_id);
    // A page of them ends early if they are large.
    const rows = ids.length === 0 ? [] : await readAll((page) => listAllConversations(store, { ...page, id: ids }));
    return { ...hits, data: rows };
  },
});

const withApp = (id: string | undefined) => (id === undefined ? {} : { app_id: id });

const getMessages = defineTool('get_messages', ['app', 'admin'], 'getTranscript', {
  title: 'Get messages',
  description:
    'A page of the messages of a conversation, with the chunks that each answer cites (`retriever_resources`), its rating ' +
    '(`feedback`) and what the user wrote about it (`feedback_texts`). Use it to read what was asked and answered, and to find ' +
    'the chunk behind a wrong answer. `next_first_id` is the `first_id` of the next older page.',
  input: MessageQuery.properties,
  adminInput: { app_id: Type.Optional(Type.String({ description: 'The app of the conversation, if it is known.' })) },
  output: {
    ...MessagePage.properties,
    next_first_id: nullable(id('`first_id` of the next older page; null if there are no older messages.')),
    feedback_texts: list(
      shape({ message_id: id('Message ID.'), content: text('Text of the feedback.') }),
      'What users wrote.',
    ),
  },
  run: async ({ app_id: appId, ...query }, call) => {
    const { store } = call;
    const { pages, page_order } = call.dependencies;
    const conversation_id = canonicalId(query.conversation_id);
    const ofApp = appOf(call, appId) ?? (await appOfConversation(call, conversation_id));
    if (call.caller.kind === 'admin' && appId !== undefined) await requireApp(store, appId);
    const request = pageRequest(canonicalId(ofApp), query, page_order);
    const page = await listMessages(store, pages, request, undefined, store.dataVersion(), call.disconnected);
    if (page.kind === 'large') throw tooLargeForTool(page);
    if (page.kind === 'tag') throw new Error('a page is read as a whole without tags of a client');
    const { docs, head, tail, next } = page;
    const body: Static<typeof MessagePage> = JSON.parse(head + Buffer.from(docs).toString() + tail);
    const rated = body.data.filter(({ feedback }) => feedback !== null).map((message) => message.id);
    const app_id = request.position.app_id;
    const details = rated.length === 0 ? [] : await store.activity.listDetails(app_id, conversation_id, rated);
    const feedback_texts = details.flatMap(({ message_id, feedback_content: content }) =>
      content === null ? [] : { message_id, content },
    );
    return { ...body, next_first_id: next ?? null, feedback_texts };
  },
});

/** An admin key need not name the app: ids of conversations are unique in the installation. */
async function appOfConversation({ store }: ToolCall, id: string): Promise<string> {
  const { data } = await listAllConversations(store, { id: [id] });
  if (data[0] === undefined) throw notFound('conversation not exists');
  return data[0].app_id;
}

const searchMessagesTool = defineTool('search_messages', ['app', 'admin'], 'search', {
  title: 'Search messages',
  description:
    'Messages with these words and filters, newest first, with snippets and their addresses in the console. Use it to find ' +
    'answers by what was said, by rating (`rating: "dislike"`), by failure, by period, or by the segment that they cite ' +
    '(`segment_id`). Read a hit with get_messages. A page may be short although more follow: see `has_more`.',
  input: messageFilters,
  adminInput: { app_id: searchedApp },
  output: listOf(LinkedHit).properties,
  run: ({ app_id: appId, ...query }, call) => searchLinked(call, { ...query, ...withApp(appOf(call, appId)) }),
});

export const messageTools = [listConversations, getMessages, searchMessagesTool];
