import { limits } from '../../../server/src/contract/limits.ts';
import { readPages } from '../hooks/requests.ts';
import { pathOf } from '../state/api.ts';
import type { Message, SearchHit } from '../state/types.ts';
import type { Scroll } from './transcript-scroll.ts';

/**
 * The message that a step leads to: from the current one if it is in the window, else to the first in the window, or
 * backward to the last.
 */
export function neighbourOf(scroll: Scroll, current: string | undefined, distance: 1 | -1): string | undefined {
  const inWindow = messagesInWindow(scroll);
  if (current === undefined || !inWindow.includes(current)) return inWindow.at(distance === 1 ? 0 : -1);
  return scroll.history.rows[scroll.indexOf(current) + distance]?.message.id;
}

/**
 * The message that a search for the next one starts from: the current one if it is loaded, since the window may still be
 * scrolling to it, else the last one in the window.
 */
function messageAt(scroll: Scroll, current: string | undefined): Message | undefined {
  const rowOf = (id: string | undefined) => (id === undefined ? undefined : scroll.history.rows[scroll.indexOf(id)]);
  return (rowOf(current) ?? rowOf(messagesInWindow(scroll).at(-1)))?.message;
}

function messagesInWindow({ scroller }: Scroll): string[] {
  if (scroller === undefined) return [];
  const { top, bottom } = scroller.getBoundingClientRect();
  const articles = [...scroller.querySelectorAll('article')].filter((article) => {
    const box = article.getBoundingClientRect();
    return box.bottom > top && box.top < bottom;
  });
  return articles.flatMap(({ dataset: { id } }) => id ?? []);
}

/** Filters of the search that find each kind of message. */
const filters = {
  disliked: { rating: 'dislike' },
  failed: { status: 'error' },
  file: { has: 'files' },
  bad: { has: 'bad_answer' },
} as const;
export type MessageKind = keyof typeof filters;

type Place = { app_id: string; conversation_id: string; message_id: string | undefined };

/** The next message of a kind after a message; after the newest of them, the oldest. */
export async function findNext(
  scroll: Scroll,
  { app_id, conversation_id, message_id }: Place,
  kind: MessageKind,
): Promise<string | undefined> {
  const from = messageAt(scroll, message_id);
  const query = { app_id, conversation_id, ...filters[kind], limit: limits.listRowsMax };
  /** Oldest first. Pages of a search only go back in time, so the next hit is on the last page. */
  const hitsFrom = async (from: number | undefined) =>
    (await readPages<SearchHit>(pathOf(['admin', 'search'], { ...query, from }))).toReversed();
  const hits = await hitsFrom(from?.created_at);
  const at = hits.findLastIndex(({ message_id }) => message_id === from?.id);
  const next =
    at >= 0 ? hits[at + 1] : hits.find(({ created_at }) => from === undefined || created_at > from.created_at);
  return (next ?? (await hitsFrom(undefined))[0])?.message_id;
}
