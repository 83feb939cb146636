import type { CallOptions } from './options.ts';
import { type Query, withQuery } from './paths.ts';
import { type ApiResponse, abortedBy, type Transport } from './transport.ts';
import type { ConversationPage, ListedConversation } from './types.ts';

/** Items per request in a loop, if the caller gives no limit. */
export const pageItems = 100;

/** A loop over a list. It requests pages while it runs, and none after it was left. */
export type Items<Item> = AsyncGenerator<Item, void, undefined>;

type Item = { id: string };
/** The fields that all lists with offset pages have in common. */
export type OffsetPage<I extends Item> = { data: I[]; page: number; limit: number; total: number };

/**
 * Items of a list with offset pages, from `page`. If items are added or deleted meanwhile, the others move between
 * pages: then an item can be missed, but none is returned twice.
 */
export function offsetItems<I extends Item>(
  transport: Transport,
  path: string,
  query: Query & PageOptions,
  options: CallOptions,
): Items<I> {
  const load = (page: number | undefined) =>
    transport.get<OffsetPage<I>>(withQuery(path, { ...query, limit: query.limit ?? pageItems, page }), options);
  const nextOf = ({ page, limit, total }: OffsetPage<I>) => (page * limit < total ? page + 1 : undefined);
  return itemsOf(query.page, load, nextOf, options.signal);
}

export type PageOptions = { page?: number | undefined; limit?: number | undefined };

/** Start of a page of conversations: at the end of an earlier page, or after the current position of a conversation. */
export type ConversationPlace = { cursor?: string | undefined; last_id?: string | undefined };

/**
 * Conversations after `first`. The cursor in the `Link` header of a page holds its end, even if its last conversation moves or
 * is deleted. Without that header, which a proxy may remove, the list continues after the last conversation.
 */
export function scrolledConversations(
  first: ConversationPlace,
  load: (place: ConversationPlace | undefined) => Promise<ApiResponse<ConversationPage>>,
  signal: AbortSignal | undefined,
): Items<ListedConversation> {
  const loadPage = async (place: ConversationPlace | undefined) => {
    const { body, headers } = await load(place);
    const cursor = /[?&]cursor=([\w-]+)>; rel="next"/.exec(headers.get('link') ?? '')?.[1];
    return { ...body, next: cursor === undefined ? { last_id: body.data.at(-1)?.id } : { cursor } };
  };
  return itemsOf(first, loadPage, ({ has_more, next }) => (has_more ? next : undefined), signal);
}

/** Loads a page only when the loop needs it: lists are usually shown page by page, and the loop may change what it reads. */
export async function* itemsOf<I extends object, Page extends { data: I[] }, Cursor>(
  first: Cursor | undefined,
  load: (cursor: Cursor | undefined) => Promise<Page>,
  nextOf: (page: Page) => Cursor | undefined,
  signal: AbortSignal | undefined,
  idOf: (item: I) => string = (item) => (item as unknown as Item).id,
): Items<I> {
  const returnedIds = new Set<string>();
  let cursor = first;
  do {
    const page = await load(cursor);
    for (const item of page.data) {
      if (returnedIds.has(idOf(item))) continue;
      if (signal?.aborted) throw abortedBy(signal);
      returnedIds.add(idOf(item));
      yield item;
    }
    cursor = nextOf(page);
  } while (cursor !== undefined);
}
