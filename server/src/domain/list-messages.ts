import type { PageOrder } from '../contract/message.ts';
import { canonicalId } from '../contract/primitives.ts';
import { chatModes } from '../contract/rules.ts';
import type { App } from './caller.ts';
import { notFound, ServiceError } from './errors.ts';
import type { HeldPage, MessagePage, PageCache } from './page-cache.ts';
import type { MessagePlace, Messages, PageShape, Store } from './store.ts';

export type MessageQuestion = {
  conversation_id: string;
  user: string | undefined;
  first_id: string | undefined;
  limit: number;
  page_order: PageOrder;
};

/** What `If-None-Match` says. */
export type HeldTags = { tags: readonly string[]; matchesTag: (tag: string) => boolean };

export const isChatApp = ({ mode }: App): boolean => chatModes.includes(mode);

/** The first thing said about an app that is not for chatting, before its parameters are looked at. */
export function requireChatApp(app: App): void {
  if (!isChatApp(app)) {
    throw new ServiceError('not_chat_app', 'Please check that the app mode matches the API route.');
  }
}

/** A question that one app asks, as the cache and the store know it. */
export type PageAsked = {
  /** Two questions with the same key have the same answer. */
  key: string;
  /** What the page's tag says after the version. */
  suffix: string;
  place: MessagePlace;
  shape: PageShape;
};

/** Ids are looked up as they are kept; a question that differs only in their spelling is the same one. */
export function pageAsked(app_id: string, question: MessageQuestion): PageAsked {
  const { user, limit, page_order } = question;
  const conversation_id = canonicalId(question.conversation_id);
  const first_id = question.first_id === undefined ? undefined : canonicalId(question.first_id);
  // An id that names nothing becomes the empty one, which is not the same as none.
  const from = first_id === undefined ? '' : `.${first_id}`;
  const suffix = `.${limit}${page_order === 'newest_first' ? 'n' : 'o'}${from}`;
  // Nothing that is found holds NUL.
  const key = `${conversation_id}${suffix}\0${app_id}\0${user ?? ''}`;
  return { key, suffix, place: { app_id, conversation_id, user, first_id }, shape: { limit, page_order } };
}

/**
 * One page of a conversation, going back from `first_id`. Where the database still bears the mark under which the page
 * was last found, nothing is asked. Otherwise it is one question to the store, which reads no message where the caller,
 * or else the cache, holds the page in the version that the conversation has. `mark` is the store's, taken before: what
 * is written meanwhile then shows as a change.
 */
export async function listMessages(
  store: Store,
  pages: PageCache,
  { key, suffix, place, shape }: PageAsked,
  held: HeldTags | undefined,
  dataVersion: number | undefined,
): Promise<MessagePage | HeldPage> {
  // Nobody is called so, and PostgreSQL would refuse to look.
  if (place.user?.includes('\0')) throw notFound('conversation not exists');
  const current = pages.current(key, dataVersion);
  if (current !== undefined && held?.matchesTag(current.tag)) return { tag: current.tag, docs: undefined };
  if (current?.docs !== undefined) return current;

  const cached = pages.get(key);
  const heldVersion = cached?.version ?? held?.tags.find((tag) => tag.endsWith(suffix))?.slice(0, -suffix.length);
  const known = heldVersion === undefined ? undefined : { version: heldVersion, page_exists: cached !== undefined };
  const found = await store.findPage(place, shape, known);
  if (found === undefined) throw notFound('conversation not exists');
  if (!found.first_message_exists) throw notFound('first message not exists');
  const { version, messages } = found;
  const tag = version + suffix;
  const page = messages === undefined ? cached : render(version, tag, shape.limit, messages);
  const isHeld = held?.matchesTag(tag) === true;
  if (page === undefined && !isHeld) throw new Error('a page that nobody holds was not read');
  const response = isHeld || page === undefined ? { tag, docs: undefined } : page;
  pages.set(key, page ?? response, dataVersion);
  return response;
}

function render(version: string, tag: string, limit: number, { docs, next }: Messages): MessagePage {
  const head = `{"limit":${limit},"has_more":${next !== undefined},"data":[`;
  return {
    version,
    tag,
    next,
    head,
    docs,
    tail: ']}',
    isKept: false,
  };
}
