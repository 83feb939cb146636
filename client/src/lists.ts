import { NotFound } from './errors.ts';
import { abortedBy } from './transport.ts';
import type { ConversationPage, ListedConversation } from './types.ts';

/** A loop over a list. It requests pages while it runs, and none after it was left. */
export type Items<Item> = AsyncGenerator<Item, void, undefined>;

type Item = { id: string };
/** The fields that all lists with numbered pages have in common. */
export type NumberedPage<I extends Item> = { data: I[]; page: number; limit: number; total: number };

/**
 * Items of a list with numbered pages, from page `first`. If items are added or deleted meanwhile, the others move between
 * pages: then an item can be missed, but none is returned twice.
 */
export function numberedItems<I extends Item>(
  first: number | undefined,
  load: (page: number | undefined) => Promise<NumberedPage<I>>,
  signal: AbortSignal | undefined,
): Items<I> {
  const nextOf = ({ page, limit, total }: NumberedPage<I>) => (page * limit < total ? page + 1 : undefined);
  return itemsOf(first, load, nextOf, signal);
}

/**
 * Conversations after `first`, or from the start. The cursor is the last conversation of a page. If it was deleted meanwhile,
 * the list is read from `first` again; if it moved to the front, parts of the list are repeated. Conversations that were
 * returned before are left out in both cases.
 */
export function scrolledConversations(
  first: string | undefined,
  load: (last_id: string | undefined) => Promise<ConversationPage>,
  signal: AbortSignal | undefined,
): Items<ListedConversation> {
  const loadOrRestart = (last_id: string | undefined) =>
    load(last_id).catch((error: unknown) => {
      if (error instanceof NotFound && last_id !== first) return load(first);
      throw error;
    });
  const nextOf = ({ data, has_more }: ConversationPage) => (has_more ? data.at(-1)?.id : undefined);
  return itemsOf(first, loadOrRestart, nextOf, signal);
}

/** Loads a page only when the loop needs it: lists are usually shown page by page, and the loop may change what it reads. */
async function* itemsOf<I extends Item, Page extends { data: I[] }, Cursor>(
  first: Cursor | undefined,
  load: (cursor: Cursor | undefined) => Promise<Page>,
  nextOf: (page: Page) => Cursor | undefined,
  signal: AbortSignal | undefined,
): Items<I> {
  const returnedIds = new Set<string>();
  let cursor = first;
  do {
    const page = await load(cursor);
    for (const item of page.data) {
      if (returnedIds.has(item.id)) continue;
      if (signal?.aborted) throw abortedBy(signal);
      returnedIds.add(item.id);
      yield item;
    }
    cursor = nextOf(page);
  } while (cursor !== undefined);
}
