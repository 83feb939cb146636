import type { Static } from 'typebox';
import type { WorstTexts } from '../../contract/console/knowledge.ts';
import type {
  KnowledgeHit,
  SearchCounts,
  SearchFilters,
  SearchHit,
  SearchQuery,
} from '../../contract/console/search.ts';
import type { FoundMessages, MessageSearchQuery } from '../../contract/conversation.ts';
import { limits } from '../../contract/limits.ts';
import { canonicalId, canonicalIds } from '../../contract/primitives.ts';
import { decodeCursor, encodeCursor } from '../cursor.ts';
import { invalidParam, notFound, requireFound } from '../errors.ts';
import { firstCitedDay } from '../knowledge/list-all.ts';
import { type CursorPage, Paging } from '../paging.ts';
import type { ListRange } from '../store/admin-reads.ts';
import type { KnowledgeScope } from '../store/knowledge-reads.ts';
import type { FoundPart, MessageSearch, OwnCursor } from '../store/searches.ts';
import type { Store } from '../store/store.ts';
import { indexLag } from './search-indexer.ts';

/** The sort key is the position of a hit, which is not part of it. */
const pagesOf = <Hit>() => new Paging<Hit>(['number'], () => []);
const messagePages = pagesOf<SearchHit>();
const chunkPages = pagesOf<KnowledgeHit>();

/** `search`: why the search is off; undefined if it is on. `clock`: milliseconds since the epoch. */
type Searched = { store: Store; clock: () => number; search: string | undefined };

function requireSearchOn({ search }: Pick<Searched, 'search'>): void {
  if (search !== undefined) throw notFound(search);
}

/** A page of messages, newest first, or the best matches. */
export function searchMessages(
  searched: Searched,
  query: SearchQuery,
  signal: AbortSignal,
): Promise<CursorPage<SearchHit>> {
  requireSearchOn(searched);
  const { limit: _, cursor: __, group, order, ...filters } = query;
  return messagePages.readWindow(query, async (range) => {
    const search = searchOf(filters, searched.clock());
    const input = { search, isGrouped: group === 'conversation', isBestFirst: order === 'best', ...positionsOf(range) };
    return rowsOf(await searched.store.search.run('searchMessages', input, signal));
  });
}

/** A page of segments and child chunks: of all knowledge bases, or of those that a key allows. */
export function searchChunks(
  searched: Searched,
  query: Pick<SearchQuery, 'q' | 'limit' | 'cursor'>,
  scope: KnowledgeScope | undefined,
  signal: AbortSignal,
): Promise<CursorPage<KnowledgeHit>> {
  requireSearchOn(searched);
  return chunkPages.readWindow(query, async (range) => {
    const input = { q: query.q, scope, ...positionsOf(range) };
    return rowsOf(await searched.store.search.run('searchKnowledge', input, signal));
  });
}

/** A page of messages, or with `in=knowledge` of all knowledge bases or of one. */
export async function search(
  searched: Searched,
  query: SearchQuery,
  signal: AbortSignal,
): Promise<CursorPage<SearchHit | KnowledgeHit>> {
  const { limit: _, cursor: __, ...filters } = query;
  if (!isOfKnowledge(filters)) return searchMessages(searched, query, signal);
  return searchChunks(searched, query, await scopeOf(searched.store, query), signal);
}

/** The number of messages with the filters, and with one more filter each. */
export async function countSearchResults(
  searched: Searched,
  filters: SearchFilters,
  signal: AbortSignal,
): Promise<SearchCounts> {
  requireSearchOn(searched);
  if (isOfKnowledge(filters)) throw invalidParam('in must be messages');
  const { store, clock } = searched;
  const { isBuilding: is_building } = await indexLag(store);
  const counts = await store.search.run('countMessages', { search: searchOf(filters, clock()) }, signal);
  return { ...counts, is_building };
}

/** A page of the messages of one user of an app, newest first. */
export async function searchUserMessages(
  searched: Searched,
  app_id: string,
  query: Static<typeof MessageSearchQuery>,
  signal: AbortSignal,
): Promise<Static<typeof FoundMessages>> {
  requireSearchOn(searched);
  const { query: q, user, limit = limits.listRowsDefault, cursor } = query;
  const [second, conversation_id, message_id] =
    cursor === undefined ? [] : decodeCursor(cursor, ['number', 'string', 'string']);
  const input = {
    search: { q, app_id, user, now: Math.floor(searched.clock() / 1000) },
    cursor: second === undefined ? undefined : ({ second, conversation_id, message_id } as OwnCursor),
    limit,
  };
  const { hits, next } = await searched.store.search.run('searchOwnMessages', input, signal);
  const nextCursor = next && encodeCursor([next.second, next.conversation_id, next.message_id]);
  return { limit, has_more: next !== undefined, cursor: nextCursor ?? null, data: hits };
}

/** Knowledge bases have none of the other filters. */
function isOfKnowledge({ in: part, q: _, dataset_id: __, ...otherFilters }: SearchFilters): boolean {
  if (part !== 'knowledge') return false;
  const [name] = Object.keys(otherFilters);
  if (name !== undefined) throw invalidParam(`${name} must be absent with in=knowledge`);
  return true;
}

/** One knowledge base; undefined for all. */
async function scopeOf({ admin }: Store, { dataset_id }: SearchFilters): Promise<KnowledgeScope | undefined> {
  if (dataset_id === undefined) return undefined;
  const dataset = requireFound(await admin.findDataset(canonicalId(dataset_id)), 'dataset not found');
  return { workspace_id: dataset.workspace_id, dataset_ids: [dataset.id] };
}

/** The texts that most disliked answers of the last days cite. */
export function findWorstTexts(searched: Searched, signal: AbortSignal): Promise<WorstTexts> {
  requireSearchOn(searched);
  return searched.store.search.run('findWorstTexts', { since: firstCitedDay(searched.clock) }, signal);
}

const positionsOf = ({ after, count }: ListRange) => ({ before: after?.[0] as number | undefined, limit: count });
const rowsOf = <Hit>({ hits, next }: FoundPart<Hit>) => ({ rows: hits, next: next === undefined ? undefined : [next] });

const numberOf = (text: string | undefined) => (text === undefined ? undefined : Number(text));

/** `now` is in milliseconds. */
function searchOf({ in: _, min_cost, min_latency, ...filters }: SearchFilters, now: number): MessageSearch {
  const numbers = { min_cost: numberOf(min_cost), min_latency: numberOf(min_latency) };
  return { ...canonicalIds(filters), ...numbers, now: Math.floor(now / 1000) };
}
