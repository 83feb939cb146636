import type { Static } from 'typebox';
import { limits } from '../../contract/limits.ts';
import type { MessageQuery, PageOrder } from '../../contract/message.ts';
import { canonicalId } from '../../contract/primitives.ts';
import { chatModes } from '../../contract/rules.ts';
import type { App } from '../caller.ts';
import { notFound, ServiceError } from '../errors.ts';
import { joinTexts, type LargeList, openText } from '../large-text.ts';
import type { Messages, OpenPage, PagePosition, PageShape, Store } from '../store/store.ts';
import { type TextKey, textKey } from '../text-key.ts';
import type { MessagePage, PageCache, PageTag } from './page-cache.ts';

/** The tags in `If-None-Match`. */
export type ClientTags = { tags: readonly string[]; matchesTag: (tag: string) => boolean };

export const isChatApp = ({ mode }: App): boolean => chatModes.includes(mode);

/** Called before the parameters are validated. */
export function requireChatApp(app: App): void {
  if (!isChatApp(app)) {
    throw new ServiceError('not_chat_app', 'Please check that the app mode matches the API route.');
  }
}

/** A request for a page of one app, in the form that the cache and the store use. */
export type PageRequest = {
  /** Requests with the same key get the same page. */
  key: TextKey;
  /** The part of the page's tag after the version. */
  suffix: string;
  position: PagePosition;
  shape: PageShape;
};

/** Ids are canonical, so requests that differ only in the case of UUIDs share a cached page. */
export function pageRequest(app_id: string, query: Static<typeof MessageQuery>, defaultOrder: PageOrder): PageRequest {
  const { user, limit = limits.pageMessagesDefault, page_order = defaultOrder } = query;
  const conversation_id = canonicalId(query.conversation_id);
  const first_id = query.first_id === undefined ? undefined : canonicalId(query.first_id);
  // The dot distinguishes an invalid id, which becomes '', from no id.
  const from = first_id === undefined ? '' : `.${first_id}`;
  const suffix = `.${limit}${page_order === 'newest_first' ? 'n' : 'o'}${from}`;
  // No stored id or user contains NUL.
  const key = textKey(`${conversation_id}${suffix}\0${app_id}\0${user ?? ''}`);
  return { key, suffix, position: { app_id, conversation_id, user, first_id }, shape: { limit, page_order } };
}

/** A page that is too large for memory, so it is sent while it is read. */
export type LargePage = LargeList & { kind: 'large'; tag: string; next: string | undefined };

export type Page = MessagePage | PageTag | LargePage;

/**
 * One page of a conversation: the messages before `first_id`. If the cache has the page for the current data version, the
 * store is not queried. Otherwise it takes one query, which reads no message if the client or the cache has the page in the
 * conversation's current version. `dataVersion` was read from the store before this call, so a write during the call makes
 * the cached page outdated. `disconnected` aborts when the client disconnects; only a large page needs it.
 */
export async function listMessages(
  store: Store,
  pages: PageCache,
  { key, suffix, position, shape }: PageRequest,
  clientTags: ClientTags | undefined,
  dataVersion: number | undefined,
  disconnected: () => AbortSignal,
): Promise<Page> {
  // No stored user contains NUL, and PostgreSQL would reject the parameter.
  if (position.user?.includes('\0')) throw notFound('conversation not exists');
  const current = pages.current(key, dataVersion);
  if (current !== undefined && clientTags?.matchesTag(current.tag)) return { kind: 'tag', tag: current.tag };
  if (current?.kind === 'whole') return current;

  const cachedPage = pages.get(key);
  const clientTag = clientTags?.tags.find((tag) => tag.endsWith(suffix));
  const cachedVersion = cachedPage?.version ?? clientTag?.slice(0, -suffix.length);
  const cached =
    cachedVersion === undefined ? undefined : { version: cachedVersion, page_exists: cachedPage !== undefined };
  const foundPage = await store.findPage(position, shape, cached);
  if (foundPage === undefined) throw notFound('conversation not exists');
  if (!foundPage.first_message_exists) throw notFound('first message not exists');
  const { version, messages } = foundPage;
  const tag = version + suffix;
  if (messages === 'too_large' && !clientTags?.matchesTag(tag)) {
    return openLargePage(await store.openPage(position, shape, disconnected()), suffix, shape.limit);
  }
  const page =
    messages === undefined || messages === 'too_large' ? cachedPage : renderPage(version, tag, shape.limit, messages);
  const isUnchanged = clientTags?.matchesTag(tag) === true;
  if (page === undefined && !isUnchanged) throw new Error('the store did not read a page that nothing has cached');
  const response: MessagePage | PageTag = isUnchanged || page === undefined ? { kind: 'tag', tag } : page;
  pages.set(key, page ?? response, dataVersion);
  return response;
}

function renderPage(version: string, tag: string, limit: number, { docs, next }: Messages): MessagePage {
  return { kind: 'whole', version, tag, next, head: pageHead(limit, next), docs, tail: pageTail, isCached: false };
}

const pageHead = (limit: number, next: string | undefined): string =>
  `{"limit":${limit},"has_more":${next !== undefined},"data":[`;
const pageTail = ']}';

/** Checks again that the page exists: the conversation may have changed while the request waited for a free slot. */
async function openLargePage(page: OpenPage | undefined, suffix: string, limit: number): Promise<LargePage> {
  if (page === undefined) throw notFound('conversation not exists');
  const { version, first_message_exists, next, messages, readDocs, close } = page;
  if (!first_message_exists) {
    close();
    throw notFound('first message not exists');
  }
  const text = openText({
    head: pageHead(limit, next),
    tail: pageTail,
    items: messages,
    itemBytes: messages.reduce((sum, { bytes }) => sum + bytes, 0),
    read: async (batch) => joinTexts(await readDocs(batch), (doc) => doc),
    close,
  });
  return { kind: 'large', tag: version + suffix, next, ...text };
}
