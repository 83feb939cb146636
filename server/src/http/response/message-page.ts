import type { ServerResponse } from 'node:http';
import type { FastifyReply } from 'fastify';
import { type ClientTags, listMessages, type Page, type PageRequest } from '../../domain/messages/list-messages.ts';
import type { MessagePage, PageCache, PageTag } from '../../domain/messages/page-cache.ts';
import type { Store } from '../../domain/store/store.ts';
import type { TextKey } from '../../domain/text-key.ts';
import type { ErrorSender } from '../request/errors.ts';
import { revalidate } from '../request/etag.ts';
import { linkToNext } from '../request/link.ts';
import { sendLargePage } from './large-page.ts';

/** How requests of app keys get pages. A system that owns the data decorates it. */
export type PageReads = {
  /** That of the store, to be read before anything else. Throws if pages of the conversation are not served here. */
  dataVersion(conversation_id: string): number | undefined;
  /** The page, or its tag, if it is in memory and current. */
  current(key: TextKey, dataVersion: number | undefined): MessagePage | PageTag | undefined;
  /** As `listMessages`. */
  list(
    request: PageRequest,
    clientTags: ClientTags | undefined,
    dataVersion: number | undefined,
    disconnected: () => AbortSignal,
  ): Promise<Page>;
  /** Responds to a request that got no page. */
  sendError(response: ServerResponse, error: Error, id: string): void;
};

export const pageReads = (store: Store, pages: PageCache, errors: ErrorSender): PageReads => ({
  dataVersion: () => store.dataVersion(),
  current: (key, dataVersion) => pages.current(key, dataVersion),
  list: (request, clientTags, dataVersion, disconnected) =>
    listMessages(store, pages, request, clientTags, dataVersion, disconnected),
  sendError: (response, error, id) => errors.write(response, error, id),
});

export const messagesPath = '/v1/messages';

/** Headers of a message page, or of a 304, as alternating names and values. `link` returns the value of `Link`. */
export function pageHeaders(page: Page, link: (next: string) => string): string[] {
  const headers = ['etag', `"${page.tag}"`, 'cache-control', revalidate];
  if (page.kind === 'tag') return headers;
  headers.push('content-type', 'application/json; charset=utf-8');
  if (page.next !== undefined) headers.push('link', link(page.next));
  return headers;
}

/** The link to the page before a message. `url` is the URL of the request for the page after it. */
export const pageLink = (path: string, url: string, next: string): string => linkToNext(path, url, 'first_id', next);

/** Sends a page through the framework, or 304 if the client has it. */
export function sendPage(reply: FastifyReply, page: Page, path: string): FastifyReply {
  const headers = pageHeaders(page, (next) => pageLink(path, reply.request.url, next));
  for (let index = 0; index < headers.length; index += 2) reply.header(headers[index] ?? '', headers[index + 1]);
  if (page.kind === 'tag') return reply.code(304).send();
  if (page.kind === 'large') return sendLargePage(reply, page);
  return reply.send(Buffer.concat([Buffer.from(page.head), page.docs, Buffer.from(page.tail)]));
}

/** A signal that aborts when the client disconnects before it has the whole response, or has already disconnected. */
export function onDisconnect(response: ServerResponse): AbortSignal {
  const controller = new AbortController();
  if (response.closed) controller.abort();
  else response.once('close', () => response.writableFinished || controller.abort());
  return controller.signal;
}
