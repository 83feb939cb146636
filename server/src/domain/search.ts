import type { KnowledgeHit, SearchCounts, SearchHit } from '../contract/console/search.ts';
import { limits } from '../contract/limits.ts';
import type { Message } from '../contract/message.ts';
import { endPosition, firstPosition, marks, marksFrom, namesOf, textsOf, tokensWithIds } from './search-document.ts';
import {
  hasPhrases,
  hasTokens,
  isEmpty,
  parseQuery,
  type SearchWords,
  snippetOf,
  tokensInQuery,
} from './search-query.ts';
import type { IndexHit, IndexQuery, MessageHit } from './search-reads.ts';
import type { Store } from './store.ts';
import type { QueryToken } from './tokens.ts';

/** What messages are searched for. Ids are canonical, `now` and times are in seconds. */
export type MessageSearch = {
  q?: string | undefined;
  app_id?: string | undefined;
  conversation_id?: string | undefined;
  user?: string | undefined;
  rating?: 'like' | 'dislike' | undefined;
  status?: 'normal' | 'error' | undefined;
  has?: readonly Has[] | undefined;
  from?: number | undefined;
  to?: number | undefined;
  min_cost?: number | undefined;
  min_latency?: number | undefined;
  segment_id?: string | undefined;
  now: number;
};
type Has = keyof typeof marks.has | 'bad_answer';

/** `next` is the position after which the next page starts; undefined if this is the last one. */
export type FoundPart<Hit> = { hits: Hit[]; next: number | undefined };

/** Messages that are read at once, and candidates of one request whose texts are compared with a phrase. */
const readMax = 10;
const candidatesMax = 2_000;

const anyOf = (tokens: readonly string[]): QueryToken[] => tokens.map((token) => ({ token, isPrefix: false }));

function indexQuery(search: MessageSearch, words: SearchWords): IndexQuery {
  const { app_id, user, rating, status, has = [], from, to, min_cost = 0, min_latency = 0, segment_id, now } = search;
  const { conversation_id } = search;
  const exact = [
    app_id === undefined ? undefined : marks.app(app_id),
    user === undefined ? undefined : marks.user(user),
    rating && marks.rating[rating],
    status && marks.status[status],
    segment_id === undefined ? undefined : marks.segment(segment_id),
    ...has.map((kind) => (kind === 'bad_answer' ? undefined : marks.has[kind])),
  ];
  return {
    tokens: [
      ...tokensInQuery(words),
      ...exact.filter((mark) => mark !== undefined).map((mark) => anyOf([mark])),
      ...(has.includes('bad_answer') ? [anyOf([marks.rating.dislike, marks.status.error])] : []),
      ...(min_cost > 0 ? [anyOf(marksFrom.cost(min_cost))] : []),
      ...(min_latency > 0 ? [anyOf(marksFrom.latency(min_latency))] : []),
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
const findsNothing = (q: string | undefined, words: SearchWords): boolean => q !== undefined && isEmpty(words);

/** Messages before a position, newest first. A page may be short although more follow, if a phrase is rare. */
export async function searchMessages(
  store: Store,
  search: MessageSearch,
  { before, limit }: { before: number | undefined; limit: number },
): Promise<FoundPart<SearchHit>> {
  const words = parseQuery(search.q ?? '');
  if (findsNothing(search.q, words)) return { hits: [], next: undefined };
  const hits: SearchHit[] = [];
  let last: number | undefined;
  for await (const { entry, found, texts } of verified(store, indexQuery(search, words), words, before, limit + 1)) {
    if (hits.length === limit) return { hits, next: last };
    last = entry.position;
    if (found === undefined) {
      // Too many candidates: the client continues here.
      return { hits, next: last };
    }
    const { app_id, conversation_id, id: message_id, user } = found;
    const { created_at } = JSON.parse(found.doc) as Message;
    hits.push({ app_id, conversation_id, message_id, created_at, user, ...snippetOf(texts, words) });
  }
  return { hits, next: undefined };
}

type Verified = { entry: IndexHit; found: MessageHit | undefined; texts: string[] };

/** Messages that exist and contain the phrases. One without a message ends the list early: too many candidates. */
async function* verified(
  store: Store,
  query: IndexQuery,
  words: SearchWords,
  before: number | undefined,
  wanted: number,
): AsyncGenerator<Verified> {
  let batch = words.phrases.length > 0 ? limits.listRowsMax : wanted;
  let to = Math.min(query.to ?? Number.MAX_SAFE_INTEGER, before ?? Number.MAX_SAFE_INTEGER);
  for (let candidates = 0; ; ) {
    const entries = await store.search.findMessages({ ...query, to }, batch);
    for (let at = 0; at < entries.length; at += readMax) {
      const part = entries.slice(at, at + readMax);
      const rows = new Map((await store.search.readMessages(part)).map((row) => [keyOf(row), row]));
      for (const entry of part) {
        const found = rows.get(keyOf(entry));
        if (found === undefined) continue;
        const message = JSON.parse(found.doc) as Message;
        const texts = textsOf(message);
        if (hasPhrases([...texts, ...namesOf(message, found.user)], words)) yield { entry, found, texts };
      }
    }
    const last = entries.at(-1);
    if (last === undefined || entries.length < batch) return;
    candidates += entries.length;
    if (candidates >= candidatesMax) yield { entry: last, found: undefined, texts: [] };
    to = last.position;
    // Some statements cost the same for one row and for many: the beginning of a word that many words have.
    batch = Math.min(4 * batch, candidatesMax);
  }
}

const keyOf = ({ conversation_id, id }: { conversation_id: string; id: string }): string => `${conversation_id} ${id}`;

type MessageCounts = { -readonly [Name in Exclude<keyof SearchCounts, 'is_building'>]: SearchCounts[Name] };
const countedFilters: Record<Exclude<keyof MessageCounts, 'max' | 'is_partial'>, Partial<MessageSearch>> = {
  all: {},
  disliked: { rating: 'dislike' },
  failed: { status: 'error' },
  files: { has: ['files'] },
  waiting_form: { has: ['waiting_form'] },
  citations: { has: ['citations'] },
  bad_answer: { has: ['bad_answer'] },
};

/** How many messages are found with one more filter each. Counts stop at `limits.searchCountMax`. */
export async function countMessages(store: Store, search: MessageSearch): Promise<MessageCounts> {
  const words = parseQuery(search.q ?? '');
  const max = limits.searchCountMax;
  const counts: MessageCounts = {
    max,
    all: 0,
    disliked: 0,
    failed: 0,
    files: 0,
    waiting_form: 0,
    citations: 0,
    bad_answer: 0,
    is_partial: false,
  };
  if (findsNothing(search.q, words)) return counts;
  for (const name of Object.keys(countedFilters) as (keyof typeof countedFilters)[]) {
    const filter = countedFilters[name];
    const has = [...(search.has ?? []), ...(filter.has ?? [])];
    // Another rating or status is given: nothing has both.
    const isPossible = (['rating', 'status'] as const).every(
      (field) => filter[field] === undefined || (search[field] ?? filter[field]) === filter[field],
    );
    if (!isPossible) continue;
    const query = indexQuery({ ...search, ...filter, has }, words);
    const { count, isPartial } = await countUpTo(max, store, query, words);
    counts[name] = count;
    counts.is_partial ||= isPartial;
    // None of them has a further filter either.
    if (counts.all === 0 && !isPartial) break;
  }
  return counts;
}

type Count = { count: number; isPartial: boolean };

async function countUpTo(max: number, store: Store, query: IndexQuery, words: SearchWords): Promise<Count> {
  if (words.phrases.length === 0) return { count: await store.search.countMessages(query, max), isPartial: false };
  let count = 0;
  for await (const { found } of verified(store, query, words, undefined, max)) {
    if (found === undefined) return { count, isPartial: true };
    count += 1;
    if (count === max) break;
  }
  return { count, isPartial: false };
}

/** Segments and child chunks, the newest in the index first. */
export async function searchKnowledge(
  store: Store,
  q: string | undefined,
  { before, limit }: { before: number | undefined; limit: number },
): Promise<FoundPart<KnowledgeHit>> {
  const words = parseQuery(q ?? '');
  if (findsNothing(q, words)) return { hits: [], next: undefined };
  const tokens = tokensInQuery(words);
  const hits: KnowledgeHit[] = [];
  let to = before ?? Number.MAX_SAFE_INTEGER;
  for (;;) {
    const entries = await store.search.findChunks({ tokens, to }, limit + 1);
    const chunks = await store.search.readChunks(entries);
    for (const [index, entry] of entries.entries()) {
      const chunk = chunks[index];
      if (chunk === undefined) continue;
      const { content, ...names } = chunk;
      // Until an edit is indexed, the index has the words of the text before it.
      if (!hasTokens(tokensWithIds([content], [entry.id]), tokens)) continue;
      if (!hasPhrases([content, entry.id], words)) continue;
      if (hits.length === limit) return { hits, next: to };
      hits.push({ ...names, ...snippetOf([content], words) });
      to = entry.position;
    }
    const last = entries.at(-1);
    if (last === undefined || entries.length <= limit) return { hits, next: undefined };
    to = last.position;
  }
}
