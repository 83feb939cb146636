import { limits } from '../../contract/limits.ts';

/**
 * The words of texts, for the search. Both engines index these tokens as they are, so a query finds the same on each.
 *
 * A word is a sequence of letters, digits and their marks, as `Intl.Segmenter` has it, but split at punctuation: `user-8812`
 * and `user_8812` are two words. Case and accents are folded. Scripts without spaces are indexed by pairs of characters: the
 * boundaries that a segmenter finds there depend on the context, so those of a query and of a text would differ.
 *
 * Two words that are joined, as in `user-8812` or `ann@example.com`, are indexed as one token, too. Without it, such a name
 * would have to be searched among all texts that have its words somewhere.
 */

/** `start` and `end` are the place of the token in the text, in UTF-16 units. */
export type Token = { token: string; start: number; end: number };

/** Changes with the rules and with the version of Unicode: then the index has to be built again. */
export const tokenRules = `5 ${process.versions.unicode}`;

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
  for (const { 0: foundWord, index } of text.matchAll(isPlain ? asciiWord : word)) {
    if (isPlain || isAscii.test(foundWord))
      yield { token: cut(foundWord.toLowerCase()), start: index, end: index + foundWord.length };
    else yield* tokensOfWord(foundWord, index);
  }
}

function* tokensOfWord(foundWord: string, start: number): Generator<Token> {
  const end = start + foundWord.length;
  const folded = fold(foundWord);
  for (const [part] of folded.matchAll(word)) {
    for (const { 0: run, index } of part.matchAll(sameKind)) {
      if (isPair(run)) yield* pairsOf(run, folded === foundWord ? start + index : undefined, { start, end });
      else yield { token: cut(run), start, end };
    }
  }
}

/** Each character with the next one, and the last one alone. So every part of the run is a sequence of tokens. */
function* pairsOf(run: string, offset: number | undefined, place: { start: number; end: number }): Generator<Token> {
  const characters = [...run];
  let at = offset ?? 0;
  for (const [index, character] of characters.entries()) {
    const token = character + (characters[index + 1] ?? '');
    yield offset === undefined ? { token, ...place } : { token, start: at, end: at + token.length };
    at += character.length;
  }
}

/** They join the words of prose, too, unless one of the words has a digit. */
const proseJoiner = /[-'\u2010\u2011\u2019]/;
const digit = /\p{N}/u;

/** Whether two words are indexed as one token, too. `joiner`: the character between them, which is no space. */
function isJoined(left: string, joiner: string, right: string): boolean {
  if (proseJoiner.test(joiner) && !digit.test(left) && !digit.test(right)) return false;
  return !isPair(left) && !isPair(right);
}

/** No word contains this character. */
export const joinedToken = (left: string, right: string): string => `${left}\u{e001}${right}`;

const tokenOf = ({ token }: Token): string => token;

/** The words of an id, as tokens of their own kind. */
export const partsOfId = (id: string): string[] => {
  const words = isAscii.test(id) ? id.toLowerCase().match(asciiWord)?.map(cut) : Array.from(tokensOf(id), tokenOf);
  return (words ?? []).map(idPartOf);
};

/**
 * The tokens of a query's word or phrase. `isPrefix`: longer tokens with this start match too. `isJoined`: to the next one, and
 * only texts with both as a joined token are searched.
 */
export type QueryToken = { token: string; isPrefix: boolean; isJoined?: boolean };

/** The end of a text may be in the middle of a run of pairs, so its last character is no token of its own. */
export function queryTokens(text: string, isPrefix: boolean): QueryToken[] {
  const allTokens = [...tokensOf(text)];
  const tokens = allTokens.map(({ token, end }, at): QueryToken => {
    const next = allTokens[at + 1];
    const joiner = next?.start === end + 1 ? text.slice(end, next.start).trim() : '';
    return {
      token,
      isPrefix: false,
      isJoined: next !== undefined && joiner !== '' && isJoined(token, joiner, next.token),
    };
  });
  const last = tokens.at(-1);
  if (last === undefined) return [];
  const before = tokens.at(-2)?.token ?? '';
  const isRunEnd = isPair(last.token) && isPair(before) && [...before].length === 2 && before.endsWith(last.token);
  if (isRunEnd) return tokens.slice(0, -1);
  last.isPrefix = isPrefix || isPair(last.token);
  return tokens;
}

/** Words, with the character after them if it joins them to the next one. */
const asciiWordAndJoiner = /[a-z0-9]+(?:[^a-z0-9\s](?=[a-z0-9]))?/g;
const wordAndJoiner = /[\p{L}\p{N}][\p{L}\p{N}\p{M}]*(?:[^\p{L}\p{N}\p{M}\s\u{10000}-\u{10ffff}](?=[\p{L}\p{N}]))?/gu;

type Word = { tokens: readonly string[]; joiner: string };

function wordOf(foundWord: string): Word {
  const [text = ''] = foundWord.match(word) ?? [];
  const tokens = isAscii.test(text) ? [cut(text.toLowerCase())] : Array.from(tokensOfWord(text, 0), tokenOf);
  return { tokens, joiner: foundWord.slice(text.length) };
}

/**
 * The distinct tokens of a record's texts, up to the limits of a `tsvector`. They are those of `tokensOf` and the joined ones, but
 * faster: a word that occurs again is only counted.
 */
export function indexTokens(texts: Iterable<string>): Set<string> {
  const tokens = new Set<string>();
  const words = new Map<string, Word>();
  let count = 0;
  let units = 0;
  const isFull = () => count > limits.searchTokensMax || units > limits.searchTokenUnitsMax;
  const add = (token: string) => {
    if (!tokens.has(token)) units += token.length;
    tokens.add(token);
  };
  for (const text of texts) {
    const pattern = isAscii.test(text) ? asciiWordAndJoiner : wordAndJoiner;
    let left: Word | undefined;
    for (const foundWord of (pattern === asciiWordAndJoiner ? text.toLowerCase() : text).match(pattern) ?? []) {
      let right = words.get(foundWord);
      if (right === undefined) {
        right = wordOf(foundWord);
        words.set(foundWord, right);
        for (const token of right.tokens) {
          count += 1;
          if (isFull()) return tokens;
          add(token);
        }
      } else {
        count += right.tokens.length;
        if (isFull()) return tokens;
      }
      const [from, to] = [left?.tokens.at(-1), right.tokens[0]];
      if (left !== undefined && from !== undefined && to !== undefined && isJoined(from, left.joiner, to)) {
        add(joinedToken(from, to));
      }
      left = right.joiner === '' ? undefined : right;
    }
  }
  return tokens;
}
