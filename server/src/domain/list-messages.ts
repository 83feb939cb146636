import { chatModes, type PageOrder } from '../contract/message.ts';
import { canonicalId } from '../contract/primitives.ts';
import type { App } from './caller.ts';
import { notFound, ServiceError } from './errors.ts';
import type { Store } from './store.ts';

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
 * caller holds the page already.
 */
export async function listMessages(
  store: Store,
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
  const heldTag = held?.tags.find((tag) => tag.endsWith(suffix));

  const place = { app_id: app.id, conversation_id, user, first_id };
  const found = await store.findPage(place, limit + 1, heldTag?.slice(0, -suffix.length));
  if (found === undefined) throw notFound('conversation not exists');
  if (!found.first_message_exists) throw notFound('first message not exists');
  const tag = found.version + suffix;
  if (found.messages === undefined || held?.holds(tag)) return { tag, next: undefined, body: undefined };

  const has_more = found.messages.length > limit;
  const messages = has_more ? found.messages.slice(0, limit) : found.messages;
  const next = has_more ? messages[messages.length - 1]?.id : undefined;
  if (page_order === 'oldest_first') messages.reverse();
  return { tag, next, body: renderPage(limit, has_more, messages) };
}

const comma = Buffer.from(',');
const end = Buffer.from(']}');

/** Messages are stored as their final text, so a page is a concatenation of bytes. */
function renderPage(limit: number, has_more: boolean, messages: readonly { doc: Uint8Array | string }[]): Buffer {
  const parts: Uint8Array[] = [Buffer.from(`{"limit":${limit},"has_more":${has_more},"data":[`)];
  for (const { doc } of messages) {
    if (parts.length > 1) parts.push(comma);
    parts.push(typeof doc === 'string' ? Buffer.from(doc) : doc);
  }
  parts.push(end);
  return Buffer.concat(parts);
}
