import type { ReadBudget } from '../store/read-budget.ts';
import type { IndexHit, IndexQuery, MessageHit, SearchReads } from '../store/search-reads.ts';
import type { MessageSearch } from '../store/searches.ts';
import {
  endPosition,
  fieldsOf,
  filterTerms,
  filterTermsFrom,
  firstPosition,
  namesOf,
  type SearchedMessage,
  textsOf,
  tokensWithIds,
} from '../words/search-document.ts';
import { isEmpty, type SearchWords, tokensInQuery } from '../words/search-query.ts';
import type { QueryToken } from '../words/tokens.ts';
import type { Candidates } from './candidates.ts';

export const anyOf = (tokens: readonly string[]): QueryToken[] => tokens.map((token) => ({ token, isPrefix: false }));

function indexQuery(search: MessageSearch, words: SearchWords): IndexQuery {
  const { app_id, user, rating, status, has = [], from, to, min_cost = 0, min_latency = 0, segment_id, now } = search;
  const { conversation_id, model_provider, model, dataset_id, document_id } = search;
  const exact = [
    app_id === undefined ? undefined : filterTerms.app(app_id),
    user === undefined ? undefined : filterTerms.user(user),
    rating && filterTerms.rating[rating],
    status && filterTerms.status[status],
    dataset_id === undefined ? undefined : filterTerms.dataset(dataset_id),
    document_id === undefined ? undefined : filterTerms.document(document_id),
    segment_id === undefined ? undefined : filterTerms.segment(segment_id),
    model_provider === undefined ? undefined : filterTerms.provider(model_provider),
    model === undefined ? undefined : filterTerms.model(model),
    ...has.map((kind) => (kind === 'bad_answer' ? undefined : filterTerms.has[kind])),
  ];
  return {
    tokens: [
      ...tokensInQuery(words),
      ...exact.filter((term) => term !== undefined).map((term) => anyOf([term])),
      ...(has.includes('bad_answer') ? [anyOf([filterTerms.rating.dislike, filterTerms.status.error])] : []),
      ...(min_cost > 0 ? [anyOf(filterTermsFrom.cost(min_cost))] : []),
      ...(min_latency > 0 ? [anyOf(filterTermsFrom.latency(min_latency))] : []),
    ],
    ...(conversation_id !== undefined && { conversation_id }),
    ...(min_cost > 0 && { min_cost }),
    ...(min_latency > 0 && { min_latency }),
    ...(has.includes('waiting_form') && { waits_after: now }),
    ...(from !== undefined && { from: firstPosition(from), created_from: from }),
    ...(to !== undefined && { to: endPosition(to), created_to: to }),
  };
}

/** A query without a word finds nothing. */
export const findsNothing = (q: string | undefined, words: SearchWords): boolean => q !== undefined && isEmpty(words);

/** `ofReader`: without what readers of `/v1` cannot see. */
export function candidateMessages(
  reads: SearchReads,
  search: MessageSearch,
  words: SearchWords,
  budget: ReadBudget,
  { ofReader = false } = {},
) {
  const query = indexQuery(search, words);
  return {
    find: (to, count) => reads.findMessages({ ...query, to: Math.min(to, query.to ?? to) }, count, budget),
    count: (max: number) => reads.countMessages(query, max, budget),
    read: (entries) => reads.readMessages(entries),
    readText: (entry) => reads.readMessage(entry),
    textsOf: (_, { app_id, user }, text) => {
      if (isOther(app_id, search.app_id) || isOther(user, search.user)) return undefined;
      const message: SearchedMessage = JSON.parse(text);
      if (ofReader && message.items !== undefined) {
        message.items = [];
        if (!hasWords(message, user, words)) return undefined;
      }
      const fields = fieldsOf(message);
      return {
        shown: fields.map(([, shown]) => shown),
        names: namesOf(message, user),
        fields: fields.map(([field]) => field),
        latency: message.provider_response_latency,
      };
    },
  } satisfies Candidates<IndexHit, MessageHit> & { count: unknown };
}

/** Whether the message has the words. The index tells so, unless it has words of texts that the reader cannot see. */
function hasWords(message: SearchedMessage, user: string | null, words: SearchWords): boolean {
  const tokens = tokensWithIds(textsOf(message), namesOf(message, user));
  const isIn = ({ token, isPrefix }: QueryToken) =>
    tokens.some((one) => (isPrefix ? one.startsWith(token) : one === token));
  return tokensInQuery(words).every((alternatives) => alternatives.some(isIn));
}

/** The terms of the index are hashes, and may be older than the record. */
const isOther = (value: string | null, wanted: string | undefined): boolean => wanted !== undefined && value !== wanted;
