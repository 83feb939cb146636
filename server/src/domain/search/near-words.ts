import type { ReadBudget } from '../store/read-budget.ts';
import type { SearchReads } from '../store/search-reads.ts';
import type { MessageSearch } from '../store/searches.ts';
import type { SearchWords } from '../words/search-query.ts';
import { tokensOf } from '../words/tokens.ts';
import { verified } from './candidates.ts';
import { candidateMessages } from './message-candidates.ts';

/** Shorter words are near to too many others. */
const unitsMin = 4;
/** A near word begins with the same letters, so that the index finds messages that have it. */
const sharedUnits = 2;
/** So many of the newest messages are searched for near words. */
const messagesMax = 50;

/**
 * The query with one of its words replaced by the nearest word of messages that have all the others; null if there is none. For a
 * query that finds nothing.
 */
export async function suggestQuery(
  reads: SearchReads,
  search: MessageSearch,
  words: SearchWords,
  budget: ReadBudget,
): Promise<string | null> {
  const { q = '' } = search;
  for (const { token, start, end } of tokensOf(q)) {
    const at = words.words.findIndex((word) => word.token === token);
    if (at < 0 || token.length < unitsMin) continue;
    const beginning = { token: token.slice(0, sharedUnits), isPrefix: true };
    const wider = { ...words, words: words.words.with(at, beginning) };
    const candidatesOf = (part: SearchWords) => candidateMessages(reads, search, part, budget);
    const counts = new Map<string, number>();
    for await (const candidate of verified(candidatesOf, wider, { before: undefined, limit: messagesMax }, budget)) {
      if ('spentAt' in candidate) break;
      for (const foundWord of new Set(candidate.shown.flatMap((text) => [...tokensOf(text)].map((one) => one.token))))
        if (isNear(token, foundWord)) counts.set(foundWord, (counts.get(foundWord) ?? 0) + 1);
    }
    const [nearest] = [...counts].toSorted(
      ([one, ones], [other, others]) => distance(token, one) - distance(token, other) || others - ones,
    );
    if (nearest !== undefined) return `${q.slice(0, start)}${nearest[0]}${q.slice(end)}`;
  }
  return null;
}

const isNear = (word: string, other: string): boolean =>
  other !== word && other.startsWith(word.slice(0, sharedUnits)) && distance(word, other) <= (word.length < 6 ? 1 : 2);

/** How many letters are inserted, left out, replaced, or swapped with the next one. */
function distance(one: string, other: string): number {
  let before: number[] = [];
  let last = Array.from({ length: other.length + 1 }, (_, n) => n);
  for (let row = 1; row <= one.length; row += 1) {
    const current = [row];
    for (let at = 1; at <= other.length; at += 1) {
      const isSame = one[row - 1] === other[at - 1];
      const isSwapped = one[row - 1] === other[at - 2] && one[row - 2] === other[at - 1];
      const edits = [(last[at] ?? 0) + 1, (current[at - 1] ?? 0) + 1, (last[at - 1] ?? 0) + (isSame ? 0 : 1)];
      current.push(Math.min(...edits, isSwapped ? (before[at - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY));
    }
    [before, last] = [last, current];
  }
  return last.at(-1) ?? 0;
}
