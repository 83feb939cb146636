import { ConversationListed, ConversationQuery, TranscriptQuery } from '../../contract/activity.ts';
import { listOf } from '../../contract/admin.ts';
import { limits } from '../../contract/limits.ts';
import { MessagePage, type PageOrder } from '../../contract/message.ts';
import { canonicalId } from '../../contract/primitives.ts';
import { Type } from '../../contract/type.ts';
import { sortText } from '../../domain/admin-reads.ts';
import { notFound } from '../../domain/errors.ts';
import { listMessages, pageAsked } from '../../domain/list-messages.ts';
import type { Store } from '../../domain/store.ts';
import { aboutAdmin, header, responses } from '../openapi/openapi.ts';
import { answerPage, linkToNext } from '../operations/messages.ts';
import { heldTags } from '../request/etag.ts';
import type { Routes } from '../route-types.ts';
import { Paging } from './paging.ts';

const url = '/admin/apps/:app_id/conversations';
const app_id = Type.String({ description: 'App ID.' });
const conversation_id = Type.String({ description: 'Conversation ID.' });

type Row = ConversationListed;
const activityOf = ({ last_message_at, id }: Row) => [last_message_at ?? 0, id];
const latest = new Paging<Row>(['number', 'string'], activityOf);
/** The conversation that was asked for by its id comes first. */
const matching = (search: string) =>
  new Paging<Row>(['number', 'string', 'number', 'string'], (row) => [
    row.id === canonicalId(search) ? 0 : 1,
    sortText(row.user ?? ''),
    ...activityOf(row),
  ]);

/** The id as it is kept. */
export async function requireApp({ admin }: Store, id: string): Promise<string> {
  const found = await admin.findApp(canonicalId(id));
  if (found === undefined) throw notFound('app not found');
  return found.id;
}

/** Conversations of any app, and what they hold. */
export function adminConversationRoutes(pageOrder: PageOrder): Routes {
  return (app, { store, pages, bearer }) => {
    const { activity } = store;
    const onRequest = bearer.requireAdmin();

    app.route({
      method: 'GET',
      url,
      schema: {
        ...aboutAdmin,
        operationId: 'listConversations',
        summary: 'List conversations of an app',
        description:
          'Latest message first, then by id, descending. With `search`: the conversation of that id, then those of users ' +
          'whose name begins so, by user, then latest first. Deleted conversations do not exist.',
        params: Type.Object({ app_id }),
        querystring: ConversationQuery,
        response: responses({ 200: listOf(ConversationListed) }, [400, 401, 404]),
      },
      onRequest,
      handler: ({ params, query }) => {
        const { search } = query;
        if (search === undefined) {
          return latest.read(query, async (place) =>
            activity.listConversations(await requireApp(store, params.app_id), place),
          );
        }
        return matching(search).read(query, async (place) => {
          const app_id = await requireApp(store, params.app_id);
          // Nobody is called so, and PostgreSQL would refuse to look.
          return search.includes('\0') ? [] : activity.searchConversations(app_id, search, place);
        });
      },
    });

    app.route({
      method: 'GET',
      url: `${url}/:conversation_id`,
      schema: {
        ...aboutAdmin,
        operationId: 'getConversation',
        summary: 'Get a conversation of an app',
        params: Type.Object({ app_id, conversation_id }),
        response: responses({ 200: ConversationListed }, [401, 404]),
      },
      onRequest,
      handler: async ({ params }) => {
        const app_id = await requireApp(store, params.app_id);
        const found = await activity.findConversation(app_id, canonicalId(params.conversation_id));
        if (found === undefined) throw notFound('conversation not exists');
        return found;
      },
    });

    app.route({
      method: 'GET',
      url: `${url}/:conversation_id/messages`,
      schema: {
        ...aboutAdmin,
        operationId: 'getTranscript',
        summary: 'List messages of a conversation of any app',
        description: 'The page of List Conversation Messages, whatever the mode of the app.',
        params: Type.Object({ app_id, conversation_id }),
        querystring: TranscriptQuery,
        headers: header('if-none-match', 'Tags of pages that the caller holds.'),
        response: responses({ 200: MessagePage, 304: 'The page that the caller holds is current.' }, [400, 401, 404]),
      },
      onRequest,
      handler: async (request, reply) => {
        const { first_id, limit = limits.pageMessagesDefault, page_order = pageOrder } = request.query;
        const app_id = await requireApp(store, request.params.app_id);
        const { conversation_id } = request.params;
        const question = { conversation_id, user: undefined, first_id, limit, page_order };
        const asked = pageAsked(app_id, question);
        const held = heldTags(request.headers['if-none-match']);
        const page = await listMessages(store, pages, asked, held, store.dataVersion());
        const path = [app_id, 'conversations', asked.place.conversation_id, 'messages']
          .map(encodeURIComponent)
          .join('/');
        return answerPage(reply, page, (next) => linkToNext(`/admin/apps/${path}`, request.url, next));
      },
    });
  };
}
