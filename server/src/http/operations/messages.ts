import type { FastifyReply } from 'fastify';
import type { Static } from 'typebox';
import { limits } from '../../contract/limits.ts';
import { MessageQuery, type PageOrder, MessagePage as Shown } from '../../contract/message.ts';
import { listMessages, type MessageQuestion, pageAsked, requireChatApp } from '../../domain/list-messages.ts';
import type { HeldPage, MessagePage } from '../../domain/page-cache.ts';
import { callerOf } from '../auth/bearer.ts';
import { header, responses } from '../openapi/openapi.ts';
import { heldTags, revalidate } from '../request/etag.ts';
import type { Routes } from '../route-types.ts';

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
        response: responses({ 200: Shown, 304: 'The page that the caller holds is current.' }, [400, 401, 404]),
      },
      onRequest: bearer.requireKey(['app']),
      preValidation: async (request) => requireChatApp(callerOf(request, 'app').app),
      handler: async (request, reply) => {
        const asked = pageAsked(callerOf(request, 'app').app.id, questionOf(request.query, pageOrder));
        const held = heldTags(request.headers['if-none-match']);
        const page = await listMessages(store, pages, asked, held, store.dataVersion());
        return answerPage(reply, page, (next) => linkToNext(messagesPath, request.url, next));
      },
    });
  };
}

export function questionOf(query: Static<typeof MessageQuery>, pageOrder: PageOrder): MessageQuestion {
  const { conversation_id, user, first_id, limit = limits.pageMessagesDefault, page_order = pageOrder } = query;
  return { conversation_id, user, first_id, limit, page_order };
}

/** A page, or that the caller holds it. */
export function answerPage(reply: FastifyReply, page: MessagePage | HeldPage, linkTo: (next: string) => string) {
  reply.header('etag', `"${page.tag}"`).header('cache-control', revalidate);
  if (page.docs === undefined) return reply.code(304).send();
  if (page.next !== undefined) reply.header('link', linkTo(page.next));
  const body = Buffer.concat([Buffer.from(page.head), page.docs, Buffer.from(page.tail)]);
  return reply.header('content-type', 'application/json; charset=utf-8').send(body);
}

/** The same question, asked from further back. What was given is repeated as it was spelled, so it means the same. */
export function linkToNext(path: string, url: string, next: string): string {
  let others = '';
  const query = url.indexOf('?');
  for (let at = query === -1 ? url.length : query + 1, end: number; at < url.length; at = end + 1) {
    end = url.indexOf('&', at);
    if (end === -1) end = url.length;
    const equals = url.indexOf('=', at);
    const hasValue = equals > at && equals + 1 < end;
    if (hasValue && nameOf(url.slice(at, equals)) !== 'first_id') others += `${url.slice(at, end)}&`;
  }
  const safe = unsafeInLink.test(others) ? others.replace(unsafeInLinks, percentEncode) : others;
  return `<${path}?${safe}first_id=${next}>; rel="next"`;
}

const nameOf = (spelled: string): string | undefined =>
  /[%+]/.test(spelled) ? new URLSearchParams(spelled).keys().next().value : spelled;
const unsafeInLink = /[^\x21-\x7e]|["<>\\^`{|}]/;
const unsafeInLinks = new RegExp(unsafeInLink, 'g');
const percentEncode = (char: string): string => `%${char.charCodeAt(0).toString(16).padStart(2, '0')}`;
