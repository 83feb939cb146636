import type { SearchHit } from '../../contract/console/search.ts';
import { limits } from '../../contract/limits.ts';
import type { ReadBudget } from '../store/read-budget.ts';
import type { IndexHit, MessageHit, SearchReads } from '../store/search-reads.ts';
import type { FoundPart, MessageSearch } from '../store/searches.ts';
import { endPosition } from '../words/search-document.ts';
import type { SearchWords } from '../words/search-query.ts';
import type { Candidates } from './candidates.ts';
import { candidateMessages } from './message-candidates.ts';

/** A hit with the times of the first and the last message of its conversation. */
export type PlacedHit = SearchHit & { first: number; last: number };

/** The candidates without those of conversations that have a hit already. */
export const oneOfEach = (
  { read, textsOf, ...rest }: Candidates<IndexHit, MessageHit>,
  isListed: (conversation_id: string) => boolean,
): Candidates<IndexHit, MessageHit> => ({
  ...rest,
  read: async (entries) => {
    const isWanted = ({ conversation_id }: IndexHit) => !isListed(conversation_id);
    const hits = (await read(entries.filter(isWanted))).values();
    return entries.map((entry) => (isWanted(entry) ? hits.next().value : undefined));
  },
  textsOf: (entry, hit, text) => (isListed(entry.conversation_id) ? undefined : textsOf(entry, hit, text)),
});

/**
 * Adds how many hits each conversation has, and leaves out those of earlier pages: they have a newer hit, at `before` or after it.
 * The index tells, if it has few enough hits in the time of these conversations, and if no phrase has to be compared with texts.
 */
export async function countInConversations(
  reads: SearchReads,
  search: MessageSearch,
  words: SearchWords,
  { hits, next }: FoundPart<PlacedHit>,
  before: number | undefined,
  budget: ReadBudget,
): Promise<FoundPart<SearchHit>> {
  const max = limits.searchCountMax;
  const from = Math.max(search.from ?? Number.MIN_SAFE_INTEGER, Math.min(...hits.map(({ first }) => first)));
  const { find } = candidateMessages(reads, { ...search, from }, words, budget);
  const canCount = words.phrases.length === 0 && hits.length > 0;
  const indexPart = canCount
    ? await find(endPosition(Math.max(...hits.map(({ last }) => last))), { usual: max, slow: max })
    : undefined;
  const byConversation = indexPart?.isLast
    ? Map.groupBy(indexPart.hits, ({ conversation_id }) => conversation_id)
    : undefined;
  return {
    hits: hits.flatMap(({ first: _, last: __, ...hit }) => {
      const ofConversation = byConversation?.get(hit.conversation_id);
      const newest = ofConversation?.[0]?.position;
      const isOld = before !== undefined && newest !== undefined && newest >= before;
      return isOld ? [] : [{ ...hit, hit_count: ofConversation?.length ?? null }];
    }),
    next,
  };
}
