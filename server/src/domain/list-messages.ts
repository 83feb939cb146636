import type { PageOrder } from '../contract/message.ts';
import { canonicalId } from '../contract/primitives.ts';
import { chatModes } from '../contract/rules.ts';
import type { App } from './caller.ts';
import { notFound, ServiceError } from './errors.ts';
import type { MessagePage, PageCache, PageTag } from './page-cache.ts';
import type { MessagePlace, Messages, PageShape, PageStream, Store } from './store.ts';

/** The parameters of a request for a page, with their defaults. */
export type PageQuery = {
  conversation_id: string;
  user: string | undefined;
  first_id: string | undefined;
  limit: number;
  page_order: PageOrder;
};

/** The tags in `If-None-Match`. */
export type ClientTags = { tags: readonly string[]; matchesTag: (tag: string) => boolean };

export const isChatApp = ({ mode }: App): boolean => chatModes.includes(mode);

/** Checked before the parameters. */
export function requireChatApp(app: App): void {
  if (!isChatApp(app)) {
    throw new ServiceError('not_chat_app', 'Please check that the app mode matches the API route.');
  }
}

/** A page of one app, as the cache and the store look it up. */
export type PageRequest = {
  /** Requests with the same key get the same page. */
  key: string;
  /** The part of the page's tag after the version. */
  suffix: string;
  place: MessagePlace;
  shape: PageShape;
};

/** Ids are looked up in their stored spelling, so requests that differ only in the spelling of ids are the same. */
export function pageRequest(app_id: string, query: PageQuery): PageRequest {
  const { user, limit, page_order } = query;
  const conversation_id = canonicalId(query.conversation_id);
  const first_id = query.first_id === undefined ? undefined : canonicalId(query.first_id);
  // An id that names nothing becomes the empty string, which differs from no id.
  const from = first_id === undefined ? '' : `.${first_id}`;
  const suffix = `.${limit}${page_order === 'newest_first' ? 'n' : 'o'}${from}`;
  // No stored id or user contains NUL.
  const key = `${conversation_id}${suffix}\0${app_id}\0${user ?? ''}`;
  return { key, suffix, place: { app_id, conversation_id, user, first_id }, shape: { limit, page_order } };
}

/**
 * A page that is sent while it is read: it is too large for memory. Always closed, read or not; closing it twice is
 * harmless.
 */
export type LargePage = {
  tag: string;
  next: string | undefined;
  /** Length of the whole text. */
  bytes: number;
  text: AsyncIterable<Uint8Array>;
  close(): void;
};

export type Page = MessagePage | PageTag | LargePage;

/**
 * One page of a conversation, going back from `first_id`. If the cache has the page for the current data version, the
 * store is not queried. Otherwise it takes one query, which reads no message if the client, or else the cache, has the
 * page in the conversation's current version. `dataVersion` is the store's, from before this call: then a write during the
 * call shows as a change. `disconnected` aborts when the client leaves; only a large page needs it.
 */
export async function listMessages(
  store: Store,
  pages: PageCache,
  { key, suffix, place, shape }: PageRequest,
  clientTags: ClientTags | undefined,
  dataVersion: number | undefined,
  disconnected: () => AbortSignal,
): Promise<Page> {
  // No user has such a name, and PostgreSQL would reject the parameter.
  if (place.user?.includes('\0')) throw notFound('conversation not exists');
  const current = pages.current(key, dataVersion);
  if (current !== undefined && clientTags?.matchesTag(current.tag)) return { tag: current.tag, docs: undefined };
  if (current?.docs !== undefined) return current;

  const cachedPage = pages.get(key);
  const clientTag = clientTags?.tags.find((tag) => tag.endsWith(suffix));
  const cachedVersion = cachedPage?.version ?? clientTag?.slice(0, -suffix.length);
  const cached =
    cachedVersion === undefined ? undefined : { version: cachedVersion, page_exists: cachedPage !== undefined };
  const foundPage = await store.findPage(place, shape, cached);
  if (foundPage === undefined) throw notFound('conversation not exists');
  if (!foundPage.first_message_exists) throw notFound('first message not exists');
  const { version, messages } = foundPage;
  const tag = version + suffix;
  if (messages === 'too_large' && !clientTags?.matchesTag(tag)) {
    return openLargePage(await store.openPage(place, shape, disconnected()), suffix, shape.limit);
  }
  const page =
    messages === undefined || messages === 'too_large' ? cachedPage : renderPage(version, tag, shape.limit, messages);
  const isUnchanged = clientTags?.matchesTag(tag) === true;
  if (page === undefined && !isUnchanged) throw new Error('the store did not read a page that nothing has cached');
  const response = isUnchanged || page === undefined ? { tag, docs: undefined } : page;
  pages.set(key, page ?? response, dataVersion);
  return response;
}

function renderPage(version: string, tag: string, limit: number, { docs, next }: Messages): MessagePage {
  return { version, tag, next, head: pageHead(limit, next), docs, tail: pageTail, isCached: false };
}

const pageHead = (limit: number, next: string | undefined): string =>
  `{"limit":${limit},"has_more":${next !== undefined},"data":[`;
const pageTail = ']}';

/** Checked again: the conversation may have changed while the request waited for its turn. */
function openLargePage(stream: PageStream | undefined, suffix: string, limit: number): LargePage {
  if (stream === undefined) throw notFound('conversation not exists');
  const { version, first_message_exists, next, bytes, chunks, close } = stream;
  if (!first_message_exists) {
    close();
    throw notFound('first message not exists');
  }
  const head = pageHead(limit, next);
  async function* text() {
    yield Buffer.from(head);
    yield* chunks;
    yield Buffer.from(pageTail);
  }
  return { tag: version + suffix, next, bytes: head.length + bytes + pageTail.length, text: text(), close };
}
