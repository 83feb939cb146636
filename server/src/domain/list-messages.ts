import { chatModes, type PageOrder } from '../contract/message.ts';
import { canonicalId } from '../contract/primitives.ts';
import type { App } from './caller.ts';
import { notFound, ServiceError } from './errors.ts';
import type { PageCache } from './page-cache.ts';
import type { MessageRow, Store } from './store.ts';

export type MessageQuestion = {
  conversation_id: string;
  user: string | undefined;
  first_id: string | undefined;
  limit: number;
  page_order: PageOrder;
};

/** What `If-None-Match` says. */
export type HeldTags = { tags: readonly string[]; holds: (tag: string) => boolean };

export type MessagePageFound = {
  /** Names this page's content for ever: it is never given to other content. */
  tag: string;
  /** Where the next older page starts; undefined when none is left. */
  next: string | undefined;
  /** The JSON text of the page; undefined where the caller holds it. */
  body: Buffer | undefined;
};

/** The first thing said about an app that is not for chatting, before its parameters are looked at. */
export function requireChatApp(app: App): void {
  if (!chatModes.includes(app.mode)) {
    throw new ServiceError('not_chat_app', 'Please check that the app mode matches the API route.');
  }
}

/**
 * One page of a conversation, going back from `first_id`: one question to the store, which reads no message where the
 * caller, or else the cache, holds the page in the version that the conversation has.
 */
export async function listMessages(
  store: Store,
  pages: PageCache,
  app: App,
  question: MessageQuestion,
  held: HeldTags | undefined,
): Promise<MessagePageFound> {
  const { limit, page_order, user } = question;
  // Nobody is called so, and PostgreSQL would refuse to look.
  if (user?.includes('\0')) throw notFound('conversation not exists');
  const first_id = question.first_id === undefined ? undefined : canonicalId(question.first_id);
  const conversation_id = canonicalId(question.conversation_id);
  const suffix = `.${limit}${page_order === 'newest_first' ? 'n' : 'o'}${first_id ?? ''}`;
  const cacheKey = conversation_id + suffix;
  const cached = pages.get(cacheKey);
  const heldVersion = cached?.version ?? held?.tags.find((tag) => tag.endsWith(suffix))?.slice(0, -suffix.length);

  const found = await store.findPage({ app_id: app.id, conversation_id, user, first_id }, limit + 1, heldVersion);
  if (found === undefined) throw notFound('conversation not exists');
  if (!found.first_message_exists) throw notFound('first message not exists');
  const { version, messages } = found;
  const tag = version + suffix;
  if (held?.holds(tag)) return { tag, next: undefined, body: undefined };
  if (messages !== undefined) {
    const page = { version, ...renderPage(messages, limit, page_order) };
    pages.set(cacheKey, page);
    return { tag, next: page.next, body: page.body };
  }
  if (cached === undefined) throw new Error('a page that nobody holds was not read');
  return { tag, next: cached.next, body: cached.body };
}

const comma = Buffer.from(',');
const end = Buffer.from(']}');

/** Messages are stored as their final text, so a page is a concatenation of bytes. One more than `limit` may be given. */
function renderPage(found: readonly MessageRow[], limit: number, page_order: PageOrder) {
  const has_more = found.length > limit;
  const messages = found.slice(0, limit);
  const next = has_more ? messages[messages.length - 1]?.id : undefined;
  if (page_order === 'oldest_first') messages.reverse();
  const parts: Uint8Array[] = [Buffer.from(`{"limit":${limit},"has_more":${has_more},"data":[`)];
  for (const { doc } of messages) {
    if (parts.length > 1) parts.push(comma);
    parts.push(typeof doc === 'string' ? Buffer.from(doc) : doc);
  }
  parts.push(end);
  return { next, body: Buffer.concat(parts) };
}
