import type { SearchHit } from '../../contract/console/search.ts';
import { limits } from '../../contract/limits.ts';
import type { ReadBudget } from '../store/read-budget.ts';
import type { IndexHit, MessageHit } from '../store/search-reads.ts';
import { tokensWithIds } from '../words/search-document.ts';
import { hasTokens, type SearchWords, tokensInQuery } from '../words/search-query.ts';
import { type CandidatesOf, type Verified, verified } from './candidates.ts';

type Found = Verified<IndexHit, MessageHit>;

const code = /```[\s\S]*?(?:```|$)/g;
/** How much a word is worth: in the question, in the answer outside of code, and in any other text or name. */
const weights = { query: 3, answer: 2, other: 1 };

/** Yields between the texts. */
function* scoreOf({ shown, fields }: Found, words: SearchWords): Generator<undefined, number> {
  const wanted = tokensInQuery(words);
  const best = wanted.map(() => weights.other);
  for (const [at, text] of shown.entries()) {
    const field = fields?.[at];
    if (field !== 'query' && field !== 'answer') continue;
    yield;
    const tokens = tokensWithIds([text.replaceAll(code, ' ')], []);
    for (const [n, alternatives] of wanted.entries())
      if (hasTokens(tokens, [alternatives])) best[n] = Math.max(best[n] ?? 0, weights[field]);
  }
  return best.reduce((sum, weight) => sum + weight, 0);
}

/** The best of the newest hits; if they are grouped, the best one of each conversation with their number. Of equal ones the newest. */
export async function findBest(
  candidatesOf: CandidatesOf<IndexHit, MessageHit>,
  words: SearchWords,
  { limit, isGrouped }: { limit: number; isGrouped: boolean },
  render: (candidate: Found) => SearchHit,
  budget: ReadBudget,
): Promise<SearchHit[]> {
  const all: { score: number; hit: SearchHit }[] = [];
  let isComplete = true;
  for await (const candidate of verified(
    candidatesOf,
    words,
    { before: undefined, limit: limits.searchRankedMax },
    budget,
  )) {
    isComplete = !('spentAt' in candidate) && all.length < limits.searchRankedMax;
    if ('spentAt' in candidate || !isComplete) break;
    all.push({
      score: await budget.run(scoreOf(candidate, words), candidate.hit.text === null),
      hit: render(candidate),
    });
  }
  const hits = all.toSorted((one, other) => other.score - one.score).map(({ hit }) => hit);
  const groups = [...Map.groupBy(hits, ({ conversation_id }) => conversation_id).values()];
  const grouped = groups.flatMap(([hit, ...otherHits]) =>
    hit === undefined ? [] : { ...hit, hit_count: isComplete ? 1 + otherHits.length : null },
  );
  return (isGrouped ? grouped : hits).slice(0, limit);
}
