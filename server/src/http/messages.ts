import type { Static } from 'typebox';
import { limits } from '../contract/limits.ts';
import { MessagePage, MessageQuery, type PageOrder } from '../contract/message.ts';
import { listMessages, type MessageQuestion, pageTail, requireChatApp } from '../domain/list-messages.ts';
import { callerOf } from './bearer.ts';
import { heldTags, revalidate } from './etag.ts';
import { answers, header } from './openapi.ts';
import type { Routes } from './routes.ts';

export const messagesPath = '/v1/messages';

export function messageRoutes(pageOrder: PageOrder): Routes {
  return (app, { store, pages, bearer }) => {
    app.route({
      method: 'GET',
      url: messagesPath,
      schema: {
        operationId: 'getConversationHistory',
        summary: 'List Conversation Messages',
        description:
          "A conversation's messages, newest first; `first_id` pages back into older ones. A page with more behind it " +
          'carries a `Link` header with `rel="next"`. Every page carries an `ETag`.',
        tags: ['Conversations'],
        security: [{ appKey: [] }],
        querystring: MessageQuery,
        headers: header('if-none-match', 'Tags of pages that the caller holds.'),
        response: answers({ 200: MessagePage, 304: 'The page that the caller holds is current.' }, [400, 401, 404]),
      },
      onRequest: bearer.opens(['app']),
      preValidation: async (request) => requireChatApp(callerOf(request, 'app').app),
      handler: async (request, reply) => {
        const question = questionOf(request.query, pageOrder);
        const held = heldTags(request.headers['if-none-match']);
        const page = await listMessages(store, pages, callerOf(request, 'app').app, question, held, store.mark());
        reply.header('etag', `"${page.tag}"`).header('cache-control', revalidate);
        if (page.docs === undefined) return reply.code(304).send();
        if (page.next !== undefined) reply.header('link', linkToNext(request.url, page.next));
        const body = Buffer.concat([Buffer.from(page.head), page.docs, Buffer.from(pageTail)]);
        return reply.header('content-type', 'application/json; charset=utf-8').send(body);
      },
    });
  };
}

export function questionOf(query: Static<typeof MessageQuery>, pageOrder: PageOrder): MessageQuestion {
  const { conversation_id, user, first_id, limit = limits.pageMessagesDefault, page_order = pageOrder } = query;
  return { conversation_id, user, first_id, limit, page_order };
}

/** The same question, asked from further back. What was given is repeated as it was spelled, so it means the same. */
export function linkToNext(url: string, next: string): string {
  const given = url.slice(url.indexOf('?') + 1).split('&');
  const others = given.filter((pair) => /^[^=]+=./.test(pair) && nameOf(pair) !== 'first_id');
  const query = [...others, `first_id=${next}`].join('&').replaceAll(unsafeInLink, percentEncode);
  return `</v1/messages?${query}>; rel="next"`;
}

function nameOf(pair: string): string | undefined {
  const name = pair.slice(0, pair.indexOf('='));
  return /[%+]/.test(name) ? new URLSearchParams(pair).keys().next().value : name;
}

const unsafeInLink = /[^\x21-\x7e]|["<>\\^`{|}]/g;
const percentEncode = (char: string): string => `%${char.charCodeAt(0).toString(16).padStart(2, '0')}`;
