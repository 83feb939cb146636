import { hash } from 'node:crypto';
import { limits } from '../../contract/limits.ts';
import { derivedId } from '../derived-id.ts';
import { invalidParam, notFound } from '../errors.ts';
import { bytesOf, readInTurn, slicesOf } from '../large-text.ts';
import { aliasOf, type Item, type ItemPlace, isDeleted, itemId, placeIn, shownItem } from '../records/items.ts';
import { itemsOfMessage } from '../records/turns.ts';
import type { ItemAppendOutcome, ItemAuthor, ItemOrder, ItemScope, TurnPosition, TurnStart } from '../store/items.ts';
import type { Store } from '../store/store.ts';

/** The items of a conversation: each message has one or more. */

export const conversationMissing = () => notFound('Conversation not found.');
export function requireConversation<R>(row: R | undefined): R {
  if (row === undefined) throw conversationMissing();
  return row;
}
const itemMissing = () => notFound('Item not found.');

/** What a client says about sending a request again. */
export type Repetition = { idempotency_key: string | undefined; isRetry: boolean };

/** A page of items with the ids of the first and the last. */
export type ItemPage = { data: string[]; ids: string[]; has_more: boolean };

/** Adds items after all others, all or none. Returns them. */
export async function appendItems(
  store: Store,
  scope: ItemScope,
  items: readonly Item[],
  author: ItemAuthor,
  { idempotency_key, isRetry }: Repetition,
): Promise<ItemPage> {
  const outcome = await store.run('appendItems', {
    scope,
    author,
    items,
    isRetry,
    digest: hash('sha256', JSON.stringify([author.key_id, items])),
    idempotency_key: idempotency_key && derivedId(author.key_id, idempotency_key),
  });
  const ids = requireAppended(outcome);
  const data = items.map((item, at) => JSON.stringify({ ...item, id: aliasOf(item) ?? ids[at] }));
  return { data, ids, has_more: false };
}

export function requireAppended(outcome: ItemAppendOutcome): string[] {
  if (outcome === 'missing') throw conversationMissing();
  if (outcome === 'different') throw invalidParam('Idempotency-Key was used for another request');
  return outcome.ids;
}

export type ItemQuery = { after: string | undefined; limit: number; order: ItemOrder };

/**
 * A page of items after another one. It ends early, with `has_more`, if its texts are large, and is never empty while others
 * follow: clients stop at an empty page.
 */
export async function listItems(
  { items: reads }: Store,
  scope: ItemScope,
  query: ItemQuery,
  signal: AbortSignal,
): Promise<ItemPage> {
  const { after, limit, order } = query;
  const { conversation_id } = scope;
  requireConversation(await reads.findConversation(scope));
  const from = after === undefined ? undefined : await findItem(reads, conversation_id, after, signal);
  const page: ItemPage = { data: [], ids: [], has_more: false };
  let bytes = 0;
  const isFull = (text: string) =>
    page.data.length === limit || (page.data.length > 0 && bytes + text.length > limits.pageBytesMax);
  let start: TurnStart | undefined = from && { ...from.turn, isIncluded: true };
  for (;;) {
    const turns = await reads.listTurns(conversation_id, order, start, limit + 1);
    for (const slice of slicesOf(turns)) {
      const ids = slice.map(({ id }) => id);
      const read = async () => inOrder(slice, await reads.readTurns(conversation_id, ids));
      for (const turn of await readInTurn(bytesOf(slice), signal, read)) {
        for (const { item, place } of placesIn(turn, order, from?.place)) {
          const text = JSON.stringify(shownItem(item, place));
          if (isFull(text)) return { ...page, has_more: true };
          page.data.push(text);
          page.ids.push(itemId(item, place));
          bytes += text.length;
        }
      }
    }
    const last = turns.at(-1);
    if (last === undefined || turns.length <= limit) return page;
    start = { ...last, isIncluded: false };
  }
}

type Turn = Awaited<ReturnType<Store['items']['readTurns']>>[number];

/** Those of the slice that still exist. */
function inOrder(slice: readonly TurnPosition[], turns: readonly Turn[]): Turn[] {
  const byId = new Map(turns.map((turn) => [turn.id, turn]));
  return slice.flatMap(({ id }) => byId.get(id) ?? []);
}

/** The items that exist, after a place if it is in this message. */
function placesIn(turn: Turn, order: ItemOrder, after: ItemPlace | undefined): { item: Item; place: ItemPlace }[] {
  const places = itemsOfMessage(turn).map((item, index) => ({ item, place: { message_id: turn.id, index } }));
  const [first, end] = order === 'asc' ? [(after?.index ?? -1) + 1, places.length] : [0, after?.index ?? places.length];
  const rest = after?.message_id === turn.id ? places.slice(first, end) : places;
  const existing = rest.filter(({ item }) => !isDeleted(item));
  return order === 'asc' ? existing : existing.reverse();
}

/** Finds an item, also a deleted one, by its id or the one that the client gave. Throws if there is none. */
async function findItem(reads: Store['items'], conversation_id: string, id: string, signal?: AbortSignal) {
  const place = placeIn(id);
  const candidates = place ? [place.message_id] : await reads.findAlias(conversation_id, id);
  for (const message_id of candidates) {
    const turn = await readTurn(reads, conversation_id, message_id, signal);
    const items = turn ? itemsOfMessage(turn) : [];
    const index = place?.index ?? items.findLastIndex((item) => aliasOf(item) === id);
    const item = items[index];
    if (turn === undefined || item === undefined) continue;
    return { turn, item, place: { message_id, index } };
  }
  throw itemMissing();
}

async function readTurn(reads: Store['items'], conversation_id: string, id: string, signal: AbortSignal | undefined) {
  const foundTurn = await reads.findTurn(conversation_id, id);
  if (foundTurn === undefined || foundTurn.turn !== undefined) return foundTurn?.turn;
  return readInTurn(foundTurn.bytes, signal, async () => (await reads.readTurns(conversation_id, [id]))[0]);
}

async function findExisting({ items: reads }: Store, scope: ItemScope, id: string, signal?: AbortSignal) {
  requireConversation(await reads.findConversation(scope));
  const foundItem = await findItem(reads, scope.conversation_id, id, signal);
  if (isDeleted(foundItem.item)) throw itemMissing();
  return foundItem;
}

export async function getItem(store: Store, scope: ItemScope, id: string, signal: AbortSignal): Promise<object> {
  const { item, place } = await findExisting(store, scope, id, signal);
  return shownItem(item, place);
}

export async function deleteItem(store: Store, scope: ItemScope, id: string, author: ItemAuthor): Promise<void> {
  const { place } = await findExisting(store, scope, id);
  const outcome = await store.run('deleteItem', { scope, author, ...place });
  if (outcome === 'no conversation') throw conversationMissing();
  if (outcome === 'no item') throw itemMissing();
}
