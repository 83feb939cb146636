import { listOf } from '../../contract/admin.ts';
import { WorstTexts } from '../../contract/console/knowledge.ts';
import * as contract from '../../contract/console/search.ts';
import { countSearchResults, findWorstTexts, search } from '../../domain/search/search-pages.ts';
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
    run: ({ query, disconnected, dependencies }) => search(dependencies, query, disconnected()),
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
    run: ({ query, disconnected, dependencies }) => countSearchResults(dependencies, query, disconnected()),
  }),
);
