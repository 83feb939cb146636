import { chatModes, type PageOrder } from '../contract/message.ts';
import { canonicalId } from '../contract/primitives.ts';
import type { App } from './api-key.ts';
import { notFound, ServiceError } from './errors.ts';
import type { Store } from './store.ts';

export type MessageQuestion = {
  conversation_id: string;
  user: string | undefined;
  first_id: string | undefined;
  limit: number;
  page_order: PageOrder;
};

export type MessagePageFound = {
  /** Names this page's content for ever: it is never given to other content. */
  tag: string;
  /** Where the next older page starts; undefined when none is left. */
  next: string | undefined;
  /** The JSON text of the page. */
  body: Buffer;
};

/** The first thing said about an app that is not for chatting, before its parameters are looked at. */
export function requireChatApp(app: App): void {
  if (!chatModes.includes(app.mode)) {
    throw new ServiceError('not_chat_app', 'Please check that the app mode matches the API route.');
  }
}

/**
 * One page of a conversation, going back from `first_id`. `isCurrent` is told the page's tag before the page is read;
 * if it says yes (the caller holds that page), the answer is the tag alone.
 */
export async function listMessages(
  store: Store,
  app: App,
  question: MessageQuestion,
  isCurrent?: (tag: string) => boolean,
): Promise<MessagePageFound | { tag: string; body: undefined }> {
  const { limit, page_order, user } = question;
  const place = {
    app_id: app.id,
    conversation_id: canonicalId(question.conversation_id),
    user,
    first_id: question.first_id === undefined ? undefined : canonicalId(question.first_id),
  };
  const tagOf = (version: string) =>
    `${version}.${limit}${page_order === 'newest_first' ? 'n' : 'o'}${place.first_id ?? ''}`;

  // Nobody is called so, and PostgreSQL would refuse to look.
  if (user?.includes('\0')) throw notFound('conversation not exists');
  if (isCurrent !== undefined) {
    const tag = tagOf(requireExisting(await store.findVersion(place)).version);
    if (isCurrent(tag)) return { tag, body: undefined };
  }
  const found = requireExisting(await store.findPage(place, limit + 1));
  const has_more = found.messages.length > limit;
  const messages = has_more ? found.messages.slice(0, limit) : found.messages;
  const next = has_more ? messages[messages.length - 1]?.id : undefined;
  if (page_order === 'oldest_first') messages.reverse();
  return { tag: tagOf(found.version), next, body: renderPage(limit, has_more, messages) };
}

function requireExisting<T extends { first_message_exists: boolean }>(found: T | undefined): T {
  if (found === undefined) throw notFound('conversation not exists');
  if (!found.first_message_exists) throw notFound('first message not exists');
  return found;
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
