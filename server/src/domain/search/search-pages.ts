import type { WorstTexts } from '../../contract/console/knowledge.ts';
import type { KnowledgeHit, SearchFilters, SearchHit, SearchQuery } from '../../contract/console/search.ts';
import { canonicalIds } from '../../contract/primitives.ts';
import { notFound } from '../errors.ts';
import { firstCitedDay } from '../knowledge/list-all.ts';
import { type CursorPage, Paging } from '../paging.ts';
import type { ListRange } from '../store/admin-reads.ts';
import type { KnowledgeScope } from '../store/knowledge-reads.ts';
import type { FoundPart, MessageSearch } from '../store/searches.ts';
import type { Store } from '../store/store.ts';

/** The sort key is the position of a hit, which is not part of it. */
const pagesOf = <Hit>() => new Paging<Hit>(['number'], () => []);
const messagePages = pagesOf<SearchHit>();
const chunkPages = pagesOf<KnowledgeHit>();

/** `search`: why the search is off; undefined if it is on. `clock`: milliseconds since the epoch. */
type Searched = { store: Store; clock: () => number; search: string | undefined };

export function requireSearchOn({ search }: Pick<Searched, 'search'>): void {
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

/** The texts that most disliked answers of the last days cite. */
export function findWorstTexts(searched: Searched, signal: AbortSignal): Promise<WorstTexts> {
  requireSearchOn(searched);
  return searched.store.search.run('findWorstTexts', { since: firstCitedDay(searched.clock) }, signal);
}

const positionsOf = ({ after, count }: ListRange) => ({ before: after?.[0] as number | undefined, limit: count });
const rowsOf = <Hit>({ hits, next }: FoundPart<Hit>) => ({ rows: hits, next: next === undefined ? undefined : [next] });

const numberOf = (text: string | undefined) => (text === undefined ? undefined : Number(text));

/** `now` is in milliseconds. */
export function searchOf({ in: _, min_cost, min_latency, ...filters }: SearchFilters, now: number): MessageSearch {
  const numbers = { min_cost: numberOf(min_cost), min_latency: numberOf(min_latency) };
  return { ...canonicalIds(filters), ...numbers, now: Math.floor(now / 1000) };
}
