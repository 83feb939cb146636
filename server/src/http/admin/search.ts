import { listOf } from '../../contract/admin.ts';
import {
  AnyHit,
  type KnowledgeHit,
  SearchCounts,
  SearchCountsQuery,
  type SearchFilters,
  type SearchHit,
  SearchQuery,
} from '../../contract/console/search.ts';
import { canonicalId } from '../../contract/primitives.ts';
import { invalidParam, notFound } from '../../domain/errors.ts';
import type { MessageSearch } from '../../domain/search/search.ts';
import { indexLag } from '../../domain/search/search-indexer.ts';
import { aboutAdmin, responses } from '../openapi/openapi.ts';
import { onDisconnect } from '../operations/message-page.ts';
import type { Routes } from '../route-types.ts';
import { Paging } from './paging.ts';

const url = '/admin/search';

/** The sort key is the position of a hit, which is not part of it. */
const pages = new Paging<SearchHit | KnowledgeHit>(['number'], () => []);

/** The search over all messages and knowledge bases. */
export const adminSearchRoutes: Routes = (app, { store, bearer, clock, search }) => {
  const requireOn = () => {
    if (search !== undefined) throw notFound(search);
  };

  app.route({
    method: 'GET',
    url,
    schema: {
      ...aboutAdmin,
      operationId: 'search',
      summary: 'Search messages or knowledge bases',
      description:
        'Messages of all apps, newest first, or with `in=knowledge` segments and child chunks. Messages of deleted ' +
        'conversations are excluded. A change is found about a second after it was made. A page may have fewer rows than ' +
        '`limit` although more follow: a search ends after 5 seconds. 404 if the setting `SEARCH` or `CHANGES` is `off`.',
      querystring: SearchQuery,
      response: responses({ 200: listOf(AnyHit) }, [400, 401, 404]),
    },
    onRequest: bearer.requireAdmin(),
    handler: async ({ query }, reply) => {
      requireOn();
      const { limit, cursor, ...filters } = query;
      const signal = onDisconnect(reply.raw);
      return pages.readWindow({ ...(limit && { limit }), ...(cursor && { cursor }) }, async ({ after, count }) => {
        const range = { before: after?.[0] as number | undefined, limit: count };
        const { hits, next } = isOfKnowledge(filters)
          ? await store.search.run('searchKnowledge', { q: filters.q, ...range }, signal)
          : await store.search.run('searchMessages', { search: searchOf(filters, clock()), ...range }, signal);
        return { rows: hits, next: next === undefined ? undefined : [next] };
      });
    },
  });

  app.route({
    method: 'GET',
    url: `${url}/counts`,
    schema: {
      ...aboutAdmin,
      operationId: 'countSearchResults',
      summary: 'Count messages of a search',
      description: 'The number of results with the given filters, and with one more filter each. Counts stop at `max`.',
      querystring: SearchCountsQuery,
      response: responses({ 200: SearchCounts }, [400, 401, 404]),
    },
    onRequest: bearer.requireAdmin(),
    handler: async ({ query }, reply) => {
      requireOn();
      if (isOfKnowledge(query)) throw invalidParam('in must be messages');
      const { isBuilding: is_building } = await indexLag(store);
      const input = { search: searchOf(query, clock()) };
      return { ...(await store.search.run('countMessages', input, onDisconnect(reply.raw))), is_building };
    },
  });
};

/** Knowledge bases have none of the other filters. */
function isOfKnowledge({ in: part, q: _, ...others }: SearchFilters): boolean {
  if (part !== 'knowledge') return false;
  const [other] = Object.keys(others);
  if (other !== undefined) throw invalidParam(`${other} must be absent with in=knowledge`);
  return true;
}

function searchOf(
  { in: _, app_id, conversation_id, segment_id, min_cost, min_latency, ...others }: SearchFilters,
  now: number,
): MessageSearch {
  const ids = {
    app_id: app_id && canonicalId(app_id),
    conversation_id: conversation_id && canonicalId(conversation_id),
    segment_id: segment_id && canonicalId(segment_id),
  };
  const numbers = { min_cost: min_cost && Number(min_cost), min_latency: min_latency && Number(min_latency) };
  return {
    ...others,
    ...ids,
    ...(numbers as { min_cost?: number; min_latency?: number }),
    now: Math.floor(now / 1000),
  };
}
