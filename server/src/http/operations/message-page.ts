import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import type { Static } from 'typebox';
import { limits } from '../../contract/limits.ts';
import type { MessageQuery, PageOrder } from '../../contract/message.ts';
import type { LargePage, Page, PageQuery } from '../../domain/list-messages.ts';
import type { PageTag } from '../../domain/page-cache.ts';
import { readLargePage } from '../front/large-page.ts';
import { revalidate } from '../request/etag.ts';

export const messagesPath = '/v1/messages';

export function pageQuery(parameters: Static<typeof MessageQuery>, pageOrder: PageOrder): PageQuery {
  const { conversation_id, user, first_id, limit = limits.pageMessagesDefault, page_order = pageOrder } = parameters;
  return { conversation_id, user, first_id, limit, page_order };
}

/**
 * Headers of a message page, or of the 304 in its place, as alternating names and values. `url` is the request's; `path`
 * is its path in the link.
 */
export function pageHeaders(page: Page, path: string, url: string): string[] {
  const headers = ['etag', `"${page.tag}"`, 'cache-control', revalidate];
  if (isTag(page)) return headers;
  headers.push('content-type', 'application/json; charset=utf-8');
  if (page.next !== undefined) headers.push('link', linkToNext(path, url, page.next));
  return headers;
}

export const isTag = (page: Page): page is PageTag => !('next' in page);
export const isLarge = (page: Page): page is LargePage => 'text' in page;

/** Sends a page through the framework, or 304 for a client that has it. */
export function sendPage(reply: FastifyReply, page: Page, path: string): FastifyReply {
  const headers = pageHeaders(page, path, reply.request.url);
  for (let at = 0; at < headers.length; at += 2) reply.header(headers[at] as string, headers[at + 1]);
  if (isTag(page)) return reply.code(304).send();
  if (isLarge(page)) {
    reply.header('content-length', page.bytes);
    if (reply.request.method !== 'HEAD') return reply.send(readLargePage(page));
    page.close();
    // For HEAD Fastify reads a stream to its end, and replaces the length where there is none.
    return reply.send(Readable.from([]));
  }
  return reply.send(Buffer.concat([Buffer.from(page.head), page.docs, Buffer.from(page.tail)]));
}

/** Aborts when the client disconnects, or has already. */
export function onDisconnect(response: ServerResponse): AbortSignal {
  const controller = new AbortController();
  if (response.closed) controller.abort();
  else response.once('close', () => controller.abort());
  return controller.signal;
}

/** The link repeats the other parameters as they were spelled, so that they mean the same. */
function linkToNext(path: string, url: string, next: string): string {
  let others = '';
  const query = url.indexOf('?');
  for (let at = query === -1 ? url.length : query + 1, end: number; at < url.length; at = end + 1) {
    end = url.indexOf('&', at);
    if (end === -1) end = url.length;
    const equals = url.indexOf('=', at);
    const hasValue = equals > at && equals + 1 < end;
    if (hasValue && decodeName(url.slice(at, equals)) !== 'first_id') others += `${url.slice(at, end)}&`;
  }
  const safe = unsafeInLink.test(others) ? others.replace(unsafeInLinks, percentEncode) : others;
  return `<${path}?${safe}first_id=${next}>; rel="next"`;
}

const decodeName = (spelled: string): string | undefined =>
  /[%+]/.test(spelled) ? new URLSearchParams(spelled).keys().next().value : spelled;
const unsafeInLink = /[^\x21-\x7e]|["<>\\^`{|}]/;
const unsafeInLinks = new RegExp(unsafeInLink, 'g');
const percentEncode = (char: string): string => `%${char.charCodeAt(0).toString(16).padStart(2, '0')}`;
