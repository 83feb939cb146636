import type { ServerResponse } from 'node:http';
import type { FastifyReply } from 'fastify';
import type { Static } from 'typebox';
import { limits } from '../../contract/limits.ts';
import type { MessageQuery, PageOrder } from '../../contract/message.ts';
import type { LargePage, Page, PageQuery } from '../../domain/list-messages.ts';
import type { PageTag } from '../../domain/page-cache.ts';
import { revalidate } from '../request/etag.ts';
import { sendLargePage } from './large-page.ts';

export const messagesPath = '/v1/messages';

export function pageQuery(parameters: Static<typeof MessageQuery>, pageOrder: PageOrder): PageQuery {
  const { conversation_id, user, first_id, limit = limits.pageMessagesDefault, page_order = pageOrder } = parameters;
  return { conversation_id, user, first_id, limit, page_order };
}

/**
 * Headers of a message page, or of a 304, as alternating names and values. `url` is the URL of the request; `path` is the
 * path for the link.
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

/** Sends a page through the framework, or 304 if the client has it. */
export function sendPage(reply: FastifyReply, page: Page, path: string): FastifyReply {
  const headers = pageHeaders(page, path, reply.request.url);
  for (let index = 0; index < headers.length; index += 2) reply.header(headers[index] as string, headers[index + 1]);
  if (isTag(page)) return reply.code(304).send();
  if (isLarge(page)) return sendLargePage(reply, page);
  return reply.send(Buffer.concat([Buffer.from(page.head), page.docs, Buffer.from(page.tail)]));
}

/** A signal that aborts when the client disconnects, or has already disconnected. */
export function onDisconnect(response: ServerResponse): AbortSignal {
  const controller = new AbortController();
  if (response.closed) controller.abort();
  else response.once('close', () => controller.abort());
  return controller.signal;
}

/** The link repeats the other parameters exactly as the request has them, so that they mean the same. */
function linkToNext(path: string, url: string, next: string): string {
  let others = '';
  const query = url.indexOf('?');
  for (let start = query === -1 ? url.length : query + 1, end: number; start < url.length; start = end + 1) {
    end = url.indexOf('&', start);
    if (end === -1) end = url.length;
    const equals = url.indexOf('=', start);
    const hasValue = equals > start && equals + 1 < end;
    if (hasValue && decodeName(url.slice(start, equals)) !== 'first_id') others += `${url.slice(start, end)}&`;
  }
  const safe = unsafeInLink.test(others) ? others.replace(unsafeInLinks, percentEncode) : others;
  return `<${path}?${safe}first_id=${next}>; rel="next"`;
}

const decodeName = (encoded: string): string | undefined =>
  /[%+]/.test(encoded) ? new URLSearchParams(encoded).keys().next().value : encoded;
const unsafeInLink = /[^\x21-\x7e]|["<>\\^`{|}]/;
const unsafeInLinks = new RegExp(unsafeInLink, 'g');
const percentEncode = (char: string): string => `%${char.charCodeAt(0).toString(16).padStart(2, '0')}`;
