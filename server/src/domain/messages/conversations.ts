import type { ConversationOrder, Rating, Rename } from '../../contract/conversation.ts';
import { limits } from '../../contract/limits.ts';
import { canonicalId } from '../../contract/primitives.ts';
import type { CallerOf } from '../caller.ts';
import { invalidParam, notFound } from '../errors.ts';
import { joinTexts } from '../large-text.ts';
import { derivedName } from '../records/conversation-name.ts';
import { type JsonBody, renderList } from '../render-list.ts';
import { requireNotBlank, requireText } from '../require-text.ts';
import type { ConversationKey, ConversationPosition, ConversationQuery, ConversationRow } from '../store/app-store.ts';
import type { ListReads, Store } from '../store/store.ts';

/** Operations of an app's users on its conversations: list, rename, delete, rate messages. */

const conversationMissing = () => notFound('Conversation Not Exists.');
const lastMissing = () => notFound('Last Conversation Not Exists.');

export type ListParameters = Omit<ConversationQuery, 'app_id'>;

export type ConversationList = {
  page: JsonBody;
  /** The position of the page's last conversation, if others follow. */
  next: ConversationPosition | undefined;
};

/**
 * A page of conversations. With positions of earlier pages, a scroll lists every conversation that does not move exactly
 * once. With current positions (`last_id`) it never loses one, but if the last conversation of a page has moved to the front,
 * others are repeated.
 */
export async function listConversations(
  store: Store,
  app_id: string,
  { user, after, order, limit, created_after, created_before }: ListParameters,
  disconnected: () => AbortSignal,
): Promise<ConversationList> {
  // No stored user contains NUL, and PostgreSQL would reject the parameter.
  if (user?.includes('\0')) {
    if (after !== undefined) throw lastMissing();
    return { page: pageHead(limit, false) + pageTail, next: undefined };
  }
  const find = async ({ apps }: ListReads) => {
    const found = await apps.listConversations({ app_id, user, after, order, limit, created_after, created_before });
    if (found === undefined) throw lastMissing();
    return {
      ...found,
      head: pageHead(limit, found.has_more),
      tail: pageTail,
      readRow: ({ id }: ConversationKey) => apps.readConversation(id),
      render: (rows: readonly ConversationRow[]) => joinTexts(rows, renderConversation),
    };
  };
  const { body, items, has_more } = await renderList(store, find, disconnected);
  return { page: body, next: has_more ? positionOf(items.at(-1)?.key, order) : undefined };
}

const positionOf = (key: ConversationKey | undefined, order: ConversationOrder): ConversationPosition | undefined =>
  key && { id: key.id, value: order.endsWith('created_at') ? key.created_at : key.updated_at };

const pageHead = (limit: number, has_more: boolean): string => `{"limit":${limit},"has_more":${has_more},"data":[`;
const pageTail = ']}';

/** The JSON text of a conversation. `inputs` is stored as JSON, and is not parsed. */
function renderConversation({ id, name, inputs, introduction, created_at, updated_at }: ConversationRow): string {
  const start = `{"id":${JSON.stringify(id)},"name":${JSON.stringify(name ?? derivedName.withoutQuery)}`;
  const end = `"introduction":${JSON.stringify(introduction)},"created_at":${created_at},"updated_at":${updated_at}}`;
  return `${start},"inputs":${inputs ?? '{}'},"status":"normal",${end}`;
}

/** Returns the JSON text of the renamed conversation. */
export async function renameConversation(
  store: Store,
  caller: CallerOf<'app'>,
  conversation_id: string,
  { name, auto_generate = false, user }: Rename,
  now: number,
): Promise<string> {
  const change = { ...changeOf(caller, user, now), conversation_id: canonicalId(conversation_id) };
  const newName = auto_generate ? null : requireName(name ?? '');
  const row = await store.run('changeConversation', { ...change, name: newName });
  if (row === undefined) throw conversationMissing();
  return renderConversation(row);
}

export async function deleteConversation(
  store: Store,
  caller: CallerOf<'app'>,
  conversation_id: string,
  user: string | null | undefined,
  now: number,
): Promise<void> {
  const change = { ...changeOf(caller, user, now), conversation_id: canonicalId(conversation_id) };
  const row = await store.run('changeConversation', { ...change, deleted: true });
  if (row === undefined) throw conversationMissing();
}

/** An empty user counts as absent. */
function changeOf({ app, key_id }: CallerOf<'app'>, user: string | null | undefined, now: number) {
  if (user?.includes('\0')) throw conversationMissing();
  return { app_id: app.id, user: user || undefined, key_id, now };
}

export async function rateMessage(
  store: Store,
  { app, key_id }: CallerOf<'app'>,
  message_id: string,
  { rating = null, content = null, user }: Rating,
  now: number,
): Promise<void> {
  if (content !== null) requireText('content', content, limits.feedbackUnitsMax);
  const isPossible = !user.includes('\0');
  const input = { app_id: app.id, user, key_id, now, message_id: canonicalId(message_id), rating, content };
  const outcome = isPossible ? await store.run('rateMessage', input) : 'missing';
  if (outcome === 'missing') throw notFound('Message Not Exists.');
  if (outcome === 'unrated') throw invalidParam('rating is null, but the message has no feedback');
}

function requireName(name: string): string {
  requireNotBlank('name', name);
  requireText('name', name, limits.conversationNameUnitsMax);
  return name;
}
