import { listOf } from '../../contract/admin.ts';
import { WorstTexts } from '../../contract/console/knowledge.ts';
import * as contract from '../../contract/console/search.ts';
import { canonicalId } from '../../contract/primitives.ts';
import { invalidParam, requireFound } from '../../domain/errors.ts';
import { indexLag } from '../../domain/search/search-indexer.ts';
import {
  findWorstTexts,
  requireSearchOn,
  searchChunks,
  searchMessages,
  searchOf,
} from '../../domain/search/search-pages.ts';
import type { KnowledgeScope } from '../../domain/store/knowledge-reads.ts';
import type { Store } from '../../domain/store/store.ts';
import { together } from '../route-types.ts';
import { adminObject } from './routes.ts';

const url = '/admin/search';

/** The search over all messages and knowledge bases. */
export const adminSearchRoutes = together(
  adminObject('search', url, {
    summary: 'Search messages or knowledge bases',
    description:
      'Messages of all apps, newest first, or with `in=knowledge` segments and child chunks. Messages of deleted ' +
      'conversations are excluded. A change is found about a second after it was made. A page may have fewer rows than ' +
      '`limit` although more follow: a search ends after 5 seconds. 404 if the setting `SEARCH` or `CHANGES` is `off`.',
    querystring: contract.SearchQuery,
    response: listOf(contract.AnyHit),
    errors: [404],
    run: async ({ query, disconnected, store, dependencies }) => {
      const { limit: _, cursor: __, ...filters } = query;
      const signal = disconnected();
      return isOfKnowledge(filters)
        ? searchChunks(dependencies, query, await scopeOf(store, query), signal)
        : searchMessages(dependencies, query, signal);
    },
  }),
  adminObject('listWorstTexts', `${url}/worst`, {
    summary: 'List the texts that most disliked answers cite',
    description:
      'The segments that most of the disliked answers of the last days cite, and how many answers cite one of them.',
    response: WorstTexts,
    errors: [404],
    run: ({ disconnected, dependencies }) => findWorstTexts(dependencies, disconnected()),
  }),
  adminObject('countSearchResults', `${url}/counts`, {
    summary: 'Count messages of a search',
    description: 'The number of results with the given filters, and with one more filter each. Counts stop at `max`.',
    querystring: contract.SearchCountsQuery,
    response: contract.SearchCounts,
    errors: [404],
    run: async ({ query, disconnected, store, dependencies }) => {
      requireSearchOn(dependencies);
      if (isOfKnowledge(query)) throw invalidParam('in must be messages');
      const { isBuilding: is_building } = await indexLag(store);
      const input = { search: searchOf(query, dependencies.clock()) };
      return { ...(await store.search.run('countMessages', input, disconnected())), is_building };
    },
  }),
);

/** Knowledge bases have none of the other filters. */
function isOfKnowledge({ in: part, q: _, dataset_id: __, ...others }: contract.SearchFilters): boolean {
  if (part !== 'knowledge') return false;
  const [other] = Object.keys(others);
  if (other !== undefined) throw invalidParam(`${other} must be absent with in=knowledge`);
  return true;
}

/** One knowledge base; undefined for all. */
async function scopeOf({ admin }: Store, { dataset_id }: contract.SearchFilters): Promise<KnowledgeScope | undefined> {
  if (dataset_id === undefined) return undefined;
  const dataset = requireFound(await admin.findDataset(canonicalId(dataset_id)), 'dataset not found');
  return { workspace_id: dataset.workspace_id, dataset_ids: [dataset.id] };
}
