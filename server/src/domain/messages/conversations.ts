import { hash } from 'node:crypto';
import type { AppFeedback, ConversationOrder, Rating, Rename } from '../../contract/conversation.ts';
import { limits } from '../../contract/limits.ts';
import { canonicalId, canonicalIds } from '../../contract/primitives.ts';
import type { Call } from '../call.ts';
import { invalidParam, notFound, requireFound } from '../errors.ts';
import { isoTime } from '../iso-time.ts';
import { joinTexts } from '../large-text.ts';
import { derivedName } from '../records/conversation-name.ts';
import { type JsonBody, renderBody, renderList } from '../render-list.ts';
import { requireNotBlank, requireText } from '../require-text.ts';
import type {
  ConversationKey,
  ConversationPosition,
  ConversationQuery,
  ConversationRow,
  FeedbackEntry,
} from '../store/app-store.ts';
import type { ListReads } from '../store/store.ts';

/** Operations of an app's users on its conversations: list, rename, delete, rate messages. */

const lastMissing = () => notFound('Last Conversation Not Exists.');

type ListParameters = Omit<ConversationQuery, 'app_id'>;

type ConversationList = {
  page: JsonBody;
  /** The position of the page's last conversation, if others follow. */
  next: ConversationPosition | undefined;
};

/**
 * A page of conversations. With positions of earlier pages, a scroll lists every conversation that does not move exactly
 * once. With current positions (`last_id`) it never loses one, but if the last conversation of a page has moved to the front,
 * others are repeated.
 */
export async function listConversations(call: Call<'app'>, parameters: ListParameters): Promise<ConversationList> {
  const { store, caller, disconnected } = call;
  const { user, after, order, limit } = parameters;
  // No stored user contains NUL, and PostgreSQL would reject the parameter.
  if (user?.includes('\0')) {
    if (after !== undefined) throw lastMissing();
    return { page: pageHead(limit, false) + pageTail, next: undefined };
  }
  const find = async ({ apps }: ListReads) => {
    const list = await apps.listConversations({ app_id: caller.app.id, ...parameters });
    if (list === undefined) throw lastMissing();
    return {
      ...list,
      head: pageHead(limit, list.has_more),
      tail: pageTail,
      render: (rows: readonly ConversationRow[]) => joinTexts(rows, renderConversation),
    };
  };
  const { body, items, has_more } = await renderList(store, find, disconnected);
  return { page: body, next: has_more ? positionOf(items.at(-1), order) : undefined };
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
export async function renameConversation(call: Call<'app'>, conversation_id: string, rename: Rename): Promise<string> {
  const { name: given, auto_generate = false, user } = rename;
  const name = auto_generate ? null : requireName(given ?? '');
  return renderConversation(await change(call, { conversation_id, user, name }));
}

export const deleteConversation = (call: Call<'app'>, conversation_id: string, user: string | null | undefined) =>
  change(call, { conversation_id, user, deleted: true });

type Change = { conversation_id: string; user: string | null | undefined } & (
  | { name: string | null }
  | { deleted: true }
);

/** The changed conversation. An empty user counts as absent. */
async function change({ store, caller, now }: Call<'app'>, { user, ...given }: Change): Promise<ConversationRow> {
  const { app, key_id } = caller;
  const command = { ...canonicalIds(given), app_id: app.id, user: user || undefined, key_id, now };
  // No stored user contains NUL, and PostgreSQL would reject the parameter.
  const row = user?.includes('\0') ? undefined : await store.run('changeConversation', command);
  return requireFound(row, 'Conversation Not Exists.');
}

export async function rateMessage({ store, caller, now }: Call<'app'>, message_id: string, given: Rating) {
  const { rating = null, content = null, user } = given;
  const { app, key_id } = caller;
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

/** Feedback of an app, newest first, as JSON text. */
export function listFeedback(call: Call<'app'>, page: number, limit: number): Promise<JsonBody> {
  const { store, caller, disconnected } = call;
  const app_id = caller.app.id;
  const offset = Math.min((page - 1) * limit, Number.MAX_SAFE_INTEGER);
  return renderBody(store, disconnected, async ({ apps }) => ({
    head: '{"data":[',
    tail: ']}',
    items: await apps.listFeedback(app_id, offset, limit),
    render: (rows: readonly FeedbackEntry[]) => joinTexts(rows, (row) => JSON.stringify(toFeedback(app_id, row))),
  }));
}

function toFeedback(
  app_id: string,
  { conversation_id, message_id, doc, content, at, user }: FeedbackEntry,
): AppFeedback {
  return {
    id: feedbackId(conversation_id, message_id),
    app_id,
    conversation_id,
    message_id,
    rating: JSON.parse(doc).feedback.rating,
    content,
    from_source: 'user',
    from_end_user_id: user,
    from_account_id: null,
    created_at: isoTime(at),
    updated_at: isoTime(at),
  };
}

/** Sorts as the id of the message, and differs between conversations with the same message id. */
const feedbackId = (conversation_id: string, message_id: string): string =>
  message_id.slice(0, 24) + hash('sha1', `feedback ${conversation_id} ${message_id}`).slice(0, 12);
