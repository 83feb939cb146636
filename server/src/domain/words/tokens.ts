import { limits } from '../../contract/limits.ts';

/**
 * The words of texts, for the search. Both engines index these tokens as they are, so a query finds the same on each.
 *
 * A word is a sequence of letters, digits and their marks, as `Intl.Segmenter` has it, but split at punctuation: `user-8812`
 * and `user_8812` are two words. Case and accents are folded. Scripts without spaces are indexed by pairs of characters: the
 * boundaries that a segmenter finds there depend on the context, so those of a query and of a text would differ.
 */

/** `start` and `end` are the place of the token in the text, in UTF-16 units. */
export type Token = { token: string; start: number; end: number };

/** Changes with the rules and with the version of Unicode: then the index has to be built again. */
export const tokenRules = `3 ${process.versions.unicode}`;

/** A token that is not part of a text starts with this character, which no word contains. */
export const filterTerm = (name: string): string => `\u{e000}${name}`;

/**
 * A part of an id, so that `17` matches words, not every id that contains 17. A query finds ids by parts of
 * `idPartUnitsMin` characters and more.
 */
export const idPartOf = (token: string): string => filterTerm(`i${token}`);
export const idPartUnitsMin = 4;

export const isAscii = /^[\x00-\x7f]*$/;
const asciiWord = /[A-Za-z0-9]+/g;
const word = /[\p{L}\p{N}][\p{L}\p{N}\p{M}]*/gu;
/** Accents of letters and vowel points. The marks of other scripts are part of their letters. */
const accent = /[[\p{Mn}&&[\p{sc=Inherited}\p{sc=Hebrew}\p{sc=Arabic}]]--[\u3099\u309a]]/gv;
const spaceless = '\\p{scx=Han}\\p{scx=Hira}\\p{scx=Kana}\\p{scx=Thai}\\p{scx=Laoo}\\p{scx=Khmr}\\p{scx=Mymr}';
const sameKind = new RegExp(`[${spaceless}]+|[^${spaceless}]+`, 'gu');
const spacelessStart = new RegExp(`^[${spaceless}]`, 'u');
/** Whether the token is a pair of characters, or the last character of a run of pairs. */
export const isPair = (token: string): boolean => spacelessStart.test(token);

/** Case and accents removed. Upper case first: `ß` is `ss`. */
export const fold = (text: string): string =>
  text.normalize('NFKD').replace(accent, '').toUpperCase().toLowerCase().replaceAll('ς', 'σ').normalize('NFC');

/** A token is cut after this many UTF-16 units, also in a query. */
const tokenUnitsMax = 40;
/** Whether longer words may have this token. */
export const isCut = (token: string): boolean => token.length === tokenUnitsMax;
const cut = (token: string): string =>
  token.length <= tokenUnitsMax ? token : token.slice(0, tokenUnitsMax).toWellFormed().replace('\ufffd', '');

/** All tokens of a text in their order. */
export function* tokensOf(text: string): Generator<Token> {
  const isPlain = isAscii.test(text);
  for (const { 0: found, index } of text.matchAll(isPlain ? asciiWord : word)) {
    if (isPlain || isAscii.test(found))
      yield { token: cut(found.toLowerCase()), start: index, end: index + found.length };
    else yield* tokensOfWord(found, index);
  }
}

function* tokensOfWord(found: string, start: number): Generator<Token> {
  const end = start + found.length;
  const folded = fold(found);
  for (const [part] of folded.matchAll(word)) {
    for (const { 0: run, index } of part.matchAll(sameKind)) {
      if (isPair(run)) yield* pairsOf(run, folded === found ? start + index : undefined, { start, end });
      else yield { token: cut(run), start, end };
    }
  }
}

/** Each character with the next one, and the last one alone. So every part of the run is a sequence of tokens. */
function* pairsOf(run: string, offset: number | undefined, whole: { start: number; end: number }): Generator<Token> {
  const characters = [...run];
  let at = offset ?? 0;
  for (const [index, character] of characters.entries()) {
    const token = character + (characters[index + 1] ?? '');
    yield offset === undefined ? { token, ...whole } : { token, start: at, end: at + token.length };
    at += character.length;
  }
}

/** The tokens of a query's word or phrase. `isPrefix`: longer tokens with this start match too. */
export type QueryToken = { token: string; isPrefix: boolean };

/** The end of a text may be in the middle of a run of pairs, so its last character is no token of its own. */
export function queryTokens(text: string, isPrefix: boolean): QueryToken[] {
  const tokens = [...tokensOf(text)].map(({ token }) => ({ token, isPrefix: false }));
  const last = tokens.at(-1);
  if (last === undefined) return [];
  const before = tokens.at(-2)?.token ?? '';
  const isRunEnd = isPair(last.token) && isPair(before) && [...before].length === 2 && before.endsWith(last.token);
  if (isRunEnd) return tokens.slice(0, -1);
  last.isPrefix = isPrefix || isPair(last.token);
  return tokens;
}

/**
 * The distinct tokens of a record's texts, up to the limits of a `tsvector`. They are those of `tokensOf`, but faster: a word
 * that occurs again is only counted.
 */
export function indexTokens(texts: Iterable<string>): Set<string> {
  const tokens = new Set<string>();
  const tokenCounts = new Map<string, number>();
  let count = 0;
  let units = 0;
  const isFull = () => count > limits.searchTokensMax || units > limits.searchTokenUnitsMax;
  for (const text of texts) {
    if (isAscii.test(text)) {
      for (const found of text.toLowerCase().match(asciiWord) ?? []) {
        count += 1;
        if (isFull()) return tokens;
        const token = cut(found);
        if (!tokens.has(token)) units += token.length;
        tokens.add(token);
      }
      continue;
    }
    for (const found of text.match(word) ?? []) {
      const known = tokenCounts.get(found);
      if (known !== undefined) {
        count += known;
        continue;
      }
      const before = count;
      for (const token of tokensIn(found)) {
        count += 1;
        if (isFull()) return tokens;
        if (!tokens.has(token)) units += token.length;
        tokens.add(token);
      }
      tokenCounts.set(found, count - before);
    }
  }
  return tokens;
}

const tokensIn = (found: string): string[] =>
  isAscii.test(found) ? [cut(found.toLowerCase())] : [...tokensOfWord(found, 0)].map(({ token }) => token);
