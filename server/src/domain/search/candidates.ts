import { limits } from '../../contract/limits.ts';
import type { ReadBudget } from '../store/read-budget.ts';
import type { HitCount, IndexPart } from '../store/search-reads.ts';
import type { SearchedField } from '../words/search-document.ts';
import { type PhraseComparer, phraseComparer, type SearchWords, withoutJoins } from '../words/search-query.ts';

/** Texts that are read at once. */
const readMax = 25;

/** Candidates from the index, and their texts. */
export type Candidates<Entry, Hit> = {
  find(to: number, count: HitCount): Promise<IndexPart<Entry>>;
  read(entries: readonly Entry[]): Promise<(Hit | undefined)[]>;
  /** The text of one candidate, whatever its size. */
  readText(entry: Entry): Promise<string | undefined>;
  /** `shown`: for the snippet; `names`: searched, too. Undefined if the text no longer has the words. */
  textsOf(entry: Entry, hit: Hit, text: string): CandidateTexts | undefined;
};
/** Of a message, `fields` are those of the shown texts, and `latency` is its own. */
type CandidateTexts = { shown: string[]; names: string[]; fields?: readonly SearchedField[]; latency?: number };
/** `missesMax`: how many candidates are compared if none has the phrases. */
export type CandidateRange = { before: number | undefined; limit: number; missesMax?: number };
export type AnyEntry = { position: number };
export type AnyHit = { text: string | null; bytes: number };
export type Verified<Entry, Hit> = { entry: Entry; hit: Hit } & CandidateTexts;

export type CandidatesOf<Entry, Hit> = (words: SearchWords) => Candidates<Entry, Hit>;

/** The texts that show a candidate; undefined if it does not have the phrases. Yields between parts of the work. */
function* verify<Entry, Hit>(
  candidates: Candidates<Entry, Hit>,
  entry: Entry,
  hit: Hit,
  text: string,
  comparePhrases: PhraseComparer,
): Generator<undefined, CandidateTexts | undefined> {
  const texts = candidates.textsOf(entry, hit, text);
  if (texts === undefined) return undefined;
  yield;
  return (yield* comparePhrases([...texts.shown, ...texts.names])) ? texts : undefined;
}

type Found<Entry, Hit> = Verified<Entry, Hit> | { spentAt: number };

/**
 * Candidates before a position that exist and contain the phrases, newest first. If there are too many of them, more if none has the
 * phrases, or the budget is spent, the list ends with the position at which the client continues.
 *
 * Words that are joined in the query, as in `user-17`, need not be joined in the texts if no text joins them.
 */
export async function* verified<Entry extends AnyEntry, Hit extends AnyHit>(
  candidatesOf: CandidatesOf<Entry, Hit>,
  words: SearchWords,
  range: CandidateRange,
  budget: ReadBudget,
): AsyncGenerator<Found<Entry, Hit>> {
  const verifiedIn = (part: CandidateRange) => verifiedWith(candidatesOf(words), words, part, budget);
  let hasFound = false;
  for await (const found of verifiedIn(range)) {
    hasFound = true;
    yield found;
  }
  const wider = withoutJoins(words);
  if (hasFound || wider === undefined) return;
  const isFirstPage = range.before === undefined;
  if (!isFirstPage && (await hasAny(verifiedIn({ before: undefined, limit: 1 })))) return;
  yield* verifiedWith(candidatesOf(wider), wider, range, budget);
}

async function hasAny(list: AsyncGenerator): Promise<boolean> {
  const { done } = await list.next();
  await list.return(undefined);
  return !done;
}

async function* verifiedWith<Entry extends AnyEntry, Hit extends AnyHit>(
  candidates: Candidates<Entry, Hit>,
  words: SearchWords,
  { before = Number.MAX_SAFE_INTEGER, limit, missesMax = limits.searchMissesMax }: CandidateRange,
  budget: ReadBudget,
): AsyncGenerator<Found<Entry, Hit>> {
  const comparePhrases = phraseComparer(words);
  const hasPhrases = words.phrases.length > 0;
  // Texts that join the words have them in sequence, too, unless the words are several pairs.
  const mayBeFar = hasPhrases && withoutJoins(words) === undefined;
  let batch = hasPhrases ? limits.listRowsMax : limit;
  let to = before;
  let hasFound = false;
  for (let count = 0; count < (hasFound ? limits.searchCandidatesMax : missesMax); ) {
    const slow = mayBeFar ? limits.searchCandidatesMax : batch;
    const { hits: entries, isLast, end } = await candidates.find(to, { usual: batch, slow });
    for (let at = 0; at < entries.length; at += readMax) {
      const part = entries.slice(at, at + readMax);
      const hits = await candidates.read(part);
      await budget.spend(hits.reduce((sum, hit) => sum + (hit?.text?.length ?? 0), 0));
      for (const [index, entry] of part.entries()) {
        if (budget.isSpent && to < before) return yield { spentAt: to };
        to = entry.position;
        const hit = hits[index];
        if (hit === undefined) continue;
        if (hit.text === null) await budget.spend(hit.bytes);
        const text = hit.text ?? (await candidates.readText(entry));
        if (text === undefined) continue;
        const texts = await budget.run(verify(candidates, entry, hit, text, comparePhrases), hit.text === null);
        if (texts === undefined) continue;
        hasFound = true;
        yield { entry, hit, ...texts };
      }
    }
    if (end !== undefined) return yield { spentAt: end };
    if (isLast) return;
    count += entries.length;
    batch = Math.min(4 * batch, limits.searchCandidatesMax);
  }
  yield { spentAt: to };
}
