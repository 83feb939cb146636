import type { Static } from 'typebox';
import {
  type AppConversationPath,
  type ConversationListed,
  type ConversationSummary,
  type LocatedPage,
  type LocateQuery,
  type MessageDetails,
  type SummaryQuery,
  traceIdMark,
} from '../../contract/console/activity.ts';
import { limits } from '../../contract/limits.ts';
import { canonicalId } from '../../contract/primitives.ts';
import { notFound, requireFound } from '../errors.ts';
import { type CursorPage, Paging } from '../paging.ts';
import { selectionOf } from '../store/selection.ts';
import type { Store } from '../store/store.ts';
import { requireApp } from './require-app.ts';

const latestFirst = new Paging<ConversationSummary>(['number', 'string'], ({ updated_at, id }) => [updated_at, id]);

/** A page of the conversations of all apps: latest update first, then by id, descending. */
export function listAllConversations(
  store: Store,
  query: Static<typeof SummaryQuery>,
): Promise<CursorPage<ConversationSummary>> {
  const { id, cursor, app_id } = query;
  const ids = id?.map(canonicalId);
  const page = ids === undefined ? query : { limit: limits.listRowsMax, ...(cursor && { cursor }) };
  return latestFirst.read(page, async (range) => {
    if (app_id !== undefined) await requireApp(store, app_id);
    return store.activity.listSummaries(selectionOf(query), ids, range);
  });
}

type Path = Static<typeof AppConversationPath>;

/** Throws if the app or the conversation does not exist. */
export async function findConversation(store: Store, path: Path): Promise<ConversationListed> {
  const { id } = await requireApp(store, path.app_id);
  const conversation = await store.activity.findConversation(id, canonicalId(path.conversation_id));
  return requireFound(conversation, 'conversation not exists');
}

/** The `first_id` of the page with a message, or with the beginning of the conversation. */
export async function locatePage(store: Store, path: Path, query: Static<typeof LocateQuery>): Promise<LocatedPage> {
  const { id } = await requireApp(store, path.app_id);
  const { message_id, newer = 0 } = query;
  const message = message_id === undefined ? undefined : canonicalId(message_id);
  // The page is what is older than `first_id`. Without a message, the first message is the first of the newer ones.
  const distance = newer + (message === undefined ? 2 : 1);
  const conversation = canonicalId(path.conversation_id);
  const first_id = await store.activity.findNewer(id, conversation, message, distance);
  if (first_id !== undefined) return { first_id };
  const exists = message !== undefined && (await store.activity.findConversation(id, conversation)) !== undefined;
  throw notFound(`${exists ? 'message' : 'conversation'} not exists`);
}

/** What messages have that readers of `/v1` do not see. `traceUrl`: the address of a trace, with `{trace_id}`. */
export async function listMessageDetails(
  store: Store,
  path: Path,
  message_ids: readonly string[],
  traceUrl: string | undefined,
): Promise<MessageDetails[]> {
  const { id } = await requireApp(store, path.app_id);
  const ids = message_ids.map(canonicalId);
  const details = await store.activity.listDetails(id, canonicalId(path.conversation_id), ids);
  return details.map(({ trace_id, ...rest }) => {
    const trace_url = trace_id === null ? undefined : traceUrl?.replace(traceIdMark, encodeURIComponent(trace_id));
    return { ...rest, trace_url: trace_url ?? null };
  });
}
