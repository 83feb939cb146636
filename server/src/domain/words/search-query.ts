import { limits } from '../../contract/limits.ts';
import {
  idPartOf,
  idPartUnitsMin,
  isAscii,
  isCut,
  joinedToken,
  type QueryToken,
  queryTokens,
  type Token,
  tokensOf,
} from './tokens.ts';

/** A parsed query: every word must occur, and every phrase as a sequence. */
export type SearchWords = { words: QueryToken[]; phrases: QueryToken[][] };

/** `"…"` is a phrase; without its second quotation mark it is one that is still being typed. */
export function parseQuery(q: string): SearchWords {
  const words: QueryToken[] = [];
  const phrases: QueryToken[][] = [];
  const parts = [...q.matchAll(/"([^"]*)("?)|[^"\s]+/g)].filter(([text]) => !tokensOf(text).next().done);
  for (const [index, [text, quoted, end]] of parts.entries()) {
    const isLast = index === parts.length - 1;
    if (quoted !== undefined) {
      const phrase = queryTokens(quoted, isLast && end === '');
      if (phrase.length > 1) phrases.push(phrase);
      else words.push(...phrase);
      continue;
    }
    const tokens = queryTokens(text, isLast);
    // Pairs of characters are a word only in their order, and the parts of `user-8812` mean that name.
    if (tokens.length > 1) phrases.push(tokens);
    else words.push(...tokens);
  }
  return { words, phrases };
}

export const isEmpty = ({ words, phrases }: SearchWords): boolean => words.length === 0 && phrases.length === 0;

/** Every record that the query finds has one token of each of these lists: a word, or a part of an id. */
export const tokensInQuery = ({ words, phrases }: SearchWords): QueryToken[][] =>
  [...words.map((word) => [word]), ...phrases].flatMap((sequence) => {
    const isLong = ({ token }: QueryToken) => token.length >= idPartUnitsMin;
    // The last part of an id that is being typed may be short. The phrase is compared with the id afterwards.
    const isOfId = sequence.every(
      (part, at) => isHexadecimal.test(part.token) && (isLong(part) || (part.isPrefix && at > 0)),
    );
    if (!isOfId) return wordsOrJoined(sequence).map((token) => [token]);
    return sequence.filter(isLong).map((part) => [part, { ...part, token: idPartOf(part.token) }]);
  });

/** Words that are joined to another one are found by what they are joined to. */
const wordsOrJoined = (sequence: readonly QueryToken[]): QueryToken[] =>
  sequence.flatMap(({ token, isPrefix, isJoined }, at) => {
    const next = sequence[at + 1];
    if (isJoined && next !== undefined) return { token: joinedToken(token, next.token), isPrefix: next.isPrefix };
    return sequence[at - 1]?.isJoined ? [] : { token, isPrefix };
  });

/** The query without the condition that its words are joined; undefined if it has none. */
export function withoutJoins({ words, phrases }: SearchWords): SearchWords | undefined {
  if (!phrases.some((phrase) => phrase.some(({ isJoined }) => isJoined))) return undefined;
  return { words, phrases: phrases.map((phrase) => phrase.map(({ token, isPrefix }) => ({ token, isPrefix }))) };
}

const isHexadecimal = /^[0-9a-f]+$/;

const matches = ({ token, isPrefix }: QueryToken, foundToken: string): boolean =>
  isPrefix ? foundToken.startsWith(token) : foundToken === token;

/** Whether a text with these tokens has one token of each list, as the index would find it. */
export const hasTokens = (tokens: readonly string[], lists: readonly (readonly QueryToken[])[]): boolean =>
  lists.every((list) => list.some((wanted) => tokens.some((token) => matches(wanted, token))));

export type Range = [start: number, end: number];

/** A word or a phrase, and the pattern that finds it in plain texts; undefined if no plain text has it. */
export type Sequence = { tokens: readonly QueryToken[]; pattern: RegExp | undefined };
type Occurrence = { sequence: Sequence; range: Range };

/**
 * Patterns find words many times faster than splitting a text does. They read a text without letting other work run, so it is
 * short; it never has more words than the index reads.
 */
export const isPlain = (text: string): boolean => text.length <= 2 * limits.searchTokensMax && isAscii.test(text);

export function sequenceOf(tokens: readonly QueryToken[]): Sequence {
  if (!tokens.every(({ token }) => isAscii.test(token))) return { tokens, pattern: undefined };
  const words = tokens.map(
    ({ token, isPrefix }) => `${token}${isPrefix || isCut(token) ? '[a-z0-9]*' : '(?![a-z0-9])'}`,
  );
  return { tokens, pattern: new RegExp(`(?<![a-z0-9])${words.join('[^a-z0-9]+')}`, 'gi') };
}

/** A large text is compared in parts of this many tokens, between which the caller can let other work run. */
const tokensPerPart = 1_000;

/** Occurrences of words and phrases in any text, in the order of their ends; after each part, the end of that part. */
export function* occurrencesIn(text: string, sequences: readonly Sequence[]): Generator<Occurrence | number> {
  const longest = Math.max(0, ...sequences.map(({ tokens }) => tokens.length));
  const recent: Token[] = [];
  let count = 0;
  for (const token of tokensOf(text).take(limits.searchTokensMax)) {
    recent.push(token);
    if (recent.length > longest) recent.shift();
    for (const sequence of sequences) {
      const { tokens } = sequence;
      const start = recent.length - tokens.length;
      if (start < 0 || !tokens.every((wanted, index) => matches(wanted, (recent[start + index] as Token).token)))
        continue;
      yield { sequence, range: [(recent[start] as Token).start, token.end] };
    }
    if ((count += 1) % tokensPerPart === 0) yield token.end;
  }
}

/** Whether all phrases occur in some texts. Yields after each part of a large text. */
export type PhraseComparer = (texts: readonly string[]) => Generator<undefined, boolean>;

/** The index only knows which words occur. */
export function phraseComparer({ phrases }: SearchWords): PhraseComparer {
  const sequences = phrases.map(sequenceOf);
  return function* (texts) {
    const missing = new Set(sequences);
    for (const text of texts) {
      if (missing.size === 0) break;
      if (isPlain(text)) {
        for (const sequence of missing) if (hasPattern(text, sequence)) missing.delete(sequence);
        yield;
        continue;
      }
      for (const occurrence of occurrencesIn(text, [...missing])) {
        if (typeof occurrence === 'number') yield;
        else if (missing.delete(occurrence.sequence) && missing.size === 0) return true;
      }
    }
    return missing.size === 0;
  };
}

const hasPattern = (text: string, { pattern }: Sequence): boolean => pattern !== undefined && text.search(pattern) >= 0;
