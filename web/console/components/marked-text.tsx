import type { ComponentChildren } from 'preact';

type Props = { text: string; ranges: readonly (readonly number[])[]; draw?: (text: string) => string };

export function Marked({ text, ranges, draw = String }: Props) {
  const parts: ComponentChildren[] = [];
  let at = 0;
  for (const [begin = 0, end = 0] of ranges) {
    parts.push(draw(text.slice(at, begin)), <mark>{text.slice(begin, end)}</mark>);
    at = end;
  }
  return (
    <span>
      {parts}
      {draw(text.slice(at))}
    </span>
  );
}

/** A text without the marks of Markdown that would show most, such as the lines of a table. */
export const plain = (text: string): string =>
  text
    .replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/\*+|`+|^#+ |^> |^- /gm, '')
    .replaceAll(/(\|\s*:?-+:?\s*)+(\||$)|\|/g, ' ');

/** Whether one of the names contains the text, in any case. */
export const contains = (text: string, ...names: (string | undefined)[]): boolean =>
  names.some((name) => name?.toLowerCase().includes(text.trim().toLowerCase()));

/** The words of a search text, as the service compares them: without accents, in lower case. */
export function wordsOf(search: string): string[] {
  const segments = new Intl.Segmenter('en', { granularity: 'word' }).segment(search);
  return [...segments].filter(({ isWordLike }) => isWordLike).map(({ segment }) => fold(segment).folded);
}

/** A text without accents, in lower case, and where each unit of it begins in the text. */
function fold(text: string): { folded: string; places: readonly number[] } {
  const places: number[] = [];
  let folded = '';
  let at = 0;
  for (const char of text) {
    const part = char.normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase();
    for (let unit = 0; unit < part.length; unit += 1) places.push(at);
    folded += part;
    at += char.length;
  }
  return { folded, places: [...places, at] };
}

/** Scripts that are written without spaces: a word may begin anywhere. */
const withoutSpaces = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}]/u;
const patternOf = (word: string): string => {
  const escaped = word.replaceAll(/[^\p{L}\p{N}]/gu, (char) => `\\u{${char.codePointAt(0)?.toString(16)}}`);
  return withoutSpaces.test(word) ? escaped : `(?<![\\p{L}\\p{N}])${escaped}`;
};

/** Places of the words in a text, as pairs of begin and end. Longer words may begin with one of them. */
export function matchesIn(text: string, words: readonly string[]): [number, number][] {
  if (words.length === 0) return [];
  const { folded, places } = fold(text);
  const longestFirst = words.toSorted((one, other) => other.length - one.length);
  const pattern = new RegExp(longestFirst.map(patternOf).join('|'), 'gu');
  return [...folded.matchAll(pattern)].map(({ 0: match, index }) => [
    places[index] ?? 0,
    places[index + match.length] ?? text.length,
  ]);
}

const name = 'hit';

/** Highlights words in the elements with a selector. The elements are not changed. */
export function highlight(box: Element | null, selector: string, words: readonly string[]): void {
  // A browser without this interface shows the hits without highlights.
  if (!('highlights' in CSS)) return;
  CSS.highlights.delete(name);
  if (box === null || words.length === 0) return;
  const ranges: Range[] = [];
  const texts = document.createTreeWalker(box, NodeFilter.SHOW_TEXT);
  for (let node = texts.nextNode(); node !== null; node = texts.nextNode()) {
    if (node.parentElement?.closest(selector) === null) continue;
    for (const [begin, end] of matchesIn(node.textContent ?? '', words)) {
      const range = new StaticRange({ startContainer: node, startOffset: begin, endContainer: node, endOffset: end });
      ranges.push(range as unknown as Range);
    }
  }
  CSS.highlights.set(name, new Highlight(...ranges));
}
