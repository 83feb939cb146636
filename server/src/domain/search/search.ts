import type { KnowledgeHit, SearchHit } from '../../contract/console/search.ts';
import { limits } from '../../contract/limits.ts';
import { keysOf } from '../../contract/primitives.ts';
import type { ReadBudget } from '../store/read-budget.ts';
import type {
  ChunkHit,
  ChunkIndexHit,
  Count,
  IndexHit,
  IndexQuery,
  MessageHit,
  SearchReads,
} from '../store/search-reads.ts';
import type {
  FoundPart,
  MessageCounts,
  MessageSearch,
  SearchInput,
  SearchName,
  SearchResult,
} from '../store/searches.ts';
import { tokensWithIds } from '../words/search-document.ts';
import { hasTokens, isEmpty, parseQuery, type SearchWords, tokensInQuery } from '../words/search-query.ts';
import { snippetCutter } from '../words/snippets.ts';
import { findBest } from './best-hits.ts';
import {
  type AnyEntry,
  type AnyHit,
  type CandidateRange,
  type Candidates,
  type CandidatesOf,
  type Verified,
  verified,
} from './candidates.ts';
import { countInConversations, oneOfEach, type PlacedHit } from './conversation-hits.ts';
import { candidateMessages, findsNothing } from './message-candidates.ts';
import { suggestQuery } from './near-words.ts';
import { searchOwnMessages } from './own-search.ts';
import { findWorstTexts } from './worst-texts.ts';

function candidateChunks(reads: SearchReads, query: IndexQuery, budget: ReadBudget) {
  return {
    find: (to, count) => reads.findChunks({ ...query, to }, count, budget),
    read: (entries) => reads.readChunks(entries),
    readText: (entry) => reads.readChunk(entry),
    // Until an edit is indexed, the index has the words of the text before it.
    textsOf: ({ id }, _, text) =>
      hasTokens(tokensWithIds([text], [id]), query.tokens) ? { shown: [text], names: [id] } : undefined,
  } satisfies Candidates<ChunkIndexHit, ChunkHit>;
}

/** One page of verified candidates. A page may be short although more follow. */
async function pageOf<Entry extends AnyEntry, Hit extends AnyHit, Found>(
  candidatesOf: CandidatesOf<Entry, Hit>,
  words: SearchWords,
  { before, limit }: CandidateRange,
  budget: ReadBudget,
  render: (candidate: Verified<Entry, Hit>) => Found,
): Promise<FoundPart<Found>> {
  const hits: Found[] = [];
  let last: number | undefined;
  for await (const candidate of verified(candidatesOf, words, { before, limit: limit + 1 }, budget)) {
    if (hits.length === limit) return { hits, next: last };
    if ('spentAt' in candidate) return { hits, next: candidate.spentAt };
    last = candidate.entry.position;
    hits.push(render(candidate));
  }
  return { hits, next: undefined };
}

/** Messages before a position, newest first, or the best ones; if they are grouped, the first one of each conversation. */
async function searchMessages(
  reads: SearchReads,
  { search, isGrouped, isBestFirst, ...range }: SearchInput<'searchMessages'>,
  budget: ReadBudget,
): Promise<FoundPart<SearchHit>> {
  const words = parseQuery(search.q ?? '');
  if (findsNothing(search.q, words)) return { hits: [], next: undefined };
  const listedIds = new Set<string>();
  const allOf = (part: SearchWords) => candidateMessages(reads, search, part, budget);
  const candidatesOf = (part: SearchWords) =>
    isGrouped ? oneOfEach(allOf(part), (id) => listedIds.has(id)) : allOf(part);
  const cutSnippet = snippetCutter(words);
  const render = ({ entry, hit, shown, fields, latency = 0 }: Verified<IndexHit, MessageHit>): PlacedHit => {
    const { conversation_id, id: message_id } = entry;
    listedIds.add(conversation_id);
    const { app_id, created_at, user, feedback_content, first, last } = hit;
    const answers = isEmpty(words) ? shown.filter((_, at) => fields?.[at] === 'answer') : [];
    const { snippet, ranges } = cutSnippet([...answers, ...shown]);
    const found = { app_id, conversation_id, message_id, created_at, user, latency, snippet, ranges, feedback_content };
    return { ...found, hit_count: null, first, last };
  };
  const withoutTimes = ({ first: _, last: __, ...hit }: PlacedHit) => hit;
  if (isBestFirst) {
    const choice = { limit: range.limit, isGrouped };
    const hits = await findBest(allOf, words, choice, (found) => withoutTimes(render(found)), budget);
    return { hits, next: undefined };
  }
  const page = await pageOf(candidatesOf, words, range, budget, render);
  if (isGrouped) return countInConversations(reads, search, words, page, range.before, budget);
  return { ...page, hits: page.hits.map(withoutTimes) };
}

const countedFilters = {
  all: {},
  disliked: { rating: 'dislike' },
  failed: { status: 'error' },
  files: { has: ['files'] },
  waiting_form: { has: ['waiting_form'] },
  citations: { has: ['citations'] },
  bad_answer: { has: ['bad_answer'] },
} satisfies Record<string, Partial<MessageSearch>>;
const none = { all: 0, disliked: 0, failed: 0, files: 0, waiting_form: 0, citations: 0, bad_answer: 0 };

/** Numbers of messages that one more filter would find, for each filter. Counts stop at `limits.searchCountMax`. */
async function countMessages(
  reads: SearchReads,
  { search }: SearchInput<'countMessages'>,
  budget: ReadBudget,
): Promise<MessageCounts> {
  const words = parseQuery(search.q ?? '');
  const max = limits.searchCountMax;
  const counts: MessageCounts = { max, ...none, is_partial: false, suggestion: null };
  if (findsNothing(search.q, words)) return counts;
  for (const name of keysOf(countedFilters)) {
    const filter: Partial<MessageSearch> = countedFilters[name];
    const has = [...(search.has ?? []), ...(filter.has ?? [])];
    // Another rating or status is given: nothing has both.
    const isPossible = (['rating', 'status'] as const).every(
      (field) => filter[field] === undefined || (search[field] ?? filter[field]) === filter[field],
    );
    if (!isPossible) continue;
    const candidatesOf = (part: SearchWords) => candidateMessages(reads, { ...search, ...filter, has }, part, budget);
    // Each of the other counts would compare as many texts again.
    const missesMax = name === 'all' ? limits.searchMissesMax : limits.searchCandidatesMax;
    const { count, isPartial } = await countUpTo(max, candidatesOf, words, missesMax, budget);
    counts[name] = count;
    counts.is_partial ||= isPartial;
    if (counts.all > 0 || isPartial) continue;
    // None of them has a further filter either.
    counts.suggestion = await suggestQuery(reads, search, words, budget);
    break;
  }
  return counts;
}

async function countUpTo(
  max: number,
  candidatesOf: (words: SearchWords) => ReturnType<typeof candidateMessages>,
  words: SearchWords,
  missesMax: number,
  budget: ReadBudget,
): Promise<Count> {
  if (words.phrases.length === 0) {
    return candidatesOf(words).count(max);
  }
  let count = 0;
  for await (const candidate of verified(candidatesOf, words, { before: undefined, limit: max, missesMax }, budget)) {
    if ('spentAt' in candidate) return { count, isPartial: true };
    count += 1;
    if (count === max) break;
  }
  return { count, isPartial: false };
}

/** Segments and child chunks, the newest in the index first: all, or those that a knowledge key allows. */
async function searchKnowledge(
  reads: SearchReads,
  { q, scope, ...range }: SearchInput<'searchKnowledge'>,
  budget: ReadBudget,
): Promise<FoundPart<KnowledgeHit>> {
  const words = parseQuery(q ?? '');
  if (findsNothing(q, words)) return { hits: [], next: undefined };
  const candidatesOf = (part: SearchWords) => candidateChunks(reads, { tokens: tokensInQuery(part), scope }, budget);
  const cutSnippet = snippetCutter(words);
  return pageOf(candidatesOf, words, range, budget, ({ hit: { text: _, bytes: __, ...names }, shown }) => {
    const { snippet, ranges } = cutSnippet(shown);
    return { ...names, snippet, ranges };
  });
}

/** Run by `SearchStore.run`. */
export const searches: {
  [N in SearchName]: (reads: SearchReads, input: SearchInput<N>, budget: ReadBudget) => Promise<SearchResult<N>>;
} = { searchMessages, countMessages, searchKnowledge, findWorstTexts, searchOwnMessages };
