import type { FoundMessage } from '../../contract/conversation.ts';
import { hourSeconds } from '../records/usage.ts';
import type { ReadBudget } from '../store/read-budget.ts';
import type { SearchReads } from '../store/search-reads.ts';
import type { SearchInput, SearchResult } from '../store/searches.ts';
import { positionsPerSecond } from '../words/search-document.ts';
import { parseQuery, type SearchWords } from '../words/search-query.ts';
import { partsOf, snippetCutter } from '../words/snippets.ts';
import { verified } from './candidates.ts';
import { candidateMessages, findsNothing } from './message-candidates.ts';

/**
 * Messages of one user of an app. A position of the index would tell how many messages others have, so its cursor is a
 * message that the user has found, with the second of its position.
 */
export async function searchOwnMessages(
  reads: SearchReads,
  { search, cursor, limit }: SearchInput<'searchOwnMessages'>,
  budget: ReadBudget,
): Promise<SearchResult<'searchOwnMessages'>> {
  const words = parseQuery(search.q ?? '');
  if (findsNothing(search.q, words)) return { hits: [], next: undefined };
  const candidatesOf = (part: SearchWords) => candidateMessages(reads, search, part, budget, { ofReader: true });
  const cutSnippet = snippetCutter(words);
  const before = cursor && (cursor.second + 1) * positionsPerSecond;
  /** Hits in the second of the cursor that were on the page before, as long as the cursor's message may follow. */
  let isBefore = cursor !== undefined && cursor.message_id !== '';
  let foundHits: (FoundMessage & { second: number })[] = [];
  const pageTo = (second: number | undefined) => {
    const hits = foundHits.slice(0, limit);
    const { second: lastSecond, conversation_id = '', message_id = '' } = hits.at(-1) ?? {};
    const next = second === undefined ? undefined : { second: lastSecond ?? second, conversation_id, message_id };
    return { hits: hits.map(({ second: _, ...hit }) => hit), next };
  };
  for await (const candidate of verified(candidatesOf, words, { before, limit: limit + 1 }, budget)) {
    if ('spentAt' in candidate) {
      // Rounded, since the end of a part of the index depends on the messages of others.
      const hour = Math.ceil(candidate.spentAt / positionsPerSecond / hourSeconds) * hourSeconds;
      const isProgress = cursor === undefined || hour < cursor.second;
      return pageTo(isProgress ? hour : Math.floor(candidate.spentAt / positionsPerSecond));
    }
    const { conversation_id, id: message_id, position } = candidate.entry;
    const second = Math.floor(position / positionsPerSecond);
    if (isBefore && message_id === cursor?.message_id && conversation_id === cursor.conversation_id) {
      isBefore = false;
      foundHits = [];
      continue;
    }
    // The message of the cursor is gone: rather repeat hits than lose one.
    if (second !== cursor?.second) isBefore = false;
    if (!isBefore && foundHits.length >= limit) return pageTo(second);
    const { at, ...snippet } = cutSnippet(candidate.shown);
    const field = candidate.fields?.[at] ?? 'query';
    const { created_at } = candidate.hit;
    foundHits.push({ message_id, conversation_id, created_at, field, snippet: partsOf(snippet), second });
  }
  return foundHits.length > limit ? pageTo(0) : pageTo(undefined);
}
