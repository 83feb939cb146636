import { limits } from '../../contract/limits.ts';
import { isPlain, occurrencesIn, type Range, type SearchWords, type Sequence, sequenceOf } from './search-query.ts';

/** Occurrences of words and phrases that a snippet can show: the text after it is not compared. */
function rangesIn(text: string, sequences: readonly Sequence[]): Range[] {
  const ranges = isPlain(text) ? rangesOfPatterns(text, sequences) : rangesOfTokens(text, sequences);
  ranges.sort(([one], [other]) => one - other);
  const merged: Range[] = [];
  for (const [start, end] of ranges) {
    const last = merged.at(-1);
    if (last !== undefined && start <= last[1]) last[1] = Math.max(last[1], end);
    else merged.push([start, end]);
  }
  return merged;
}

function rangesOfPatterns(text: string, sequences: readonly Sequence[]): Range[] {
  const patterns = sequences.flatMap(({ pattern }) => pattern ?? []);
  const starts = patterns.map((pattern) => text.search(pattern)).filter((start) => start >= 0);
  const first = Math.min(...starts);
  const ranges: Range[] = [];
  for (const pattern of starts.length === 0 ? [] : patterns) {
    pattern.lastIndex = first;
    for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
      if (match.index > first + limits.snippetUnits) break;
      ranges.push([match.index, pattern.lastIndex]);
      // The next occurrence of a phrase may begin inside this one.
      pattern.lastIndex = match.index + 1;
    }
  }
  return ranges;
}

function rangesOfTokens(text: string, sequences: readonly Sequence[]): Range[] {
  const ranges: Range[] = [];
  let first = Number.POSITIVE_INFINITY;
  for (const occurrence of occurrencesIn(text, sequences)) {
    const start = typeof occurrence === 'number' ? occurrence : occurrence.range[0];
    if (start > first + limits.snippetUnits) break;
    if (typeof occurrence === 'number') continue;
    ranges.push(occurrence.range);
    first = Math.min(first, start);
  }
  return ranges;
}

export type Snippet = { snippet: string; ranges: Range[] };
/** `at`: which of the texts it is from. */
export type PlacedSnippet = Snippet & { at: number };

/** Characters of a snippet before the first match. */
const leadUnits = 40;

/**
 * Returns a function that cuts out the part of the first text with a match around that match; else the beginning of the first
 * text that is not empty.
 */
export function snippetCutter({ words, phrases }: SearchWords): (texts: readonly string[]) => PlacedSnippet {
  const sequences = [...words.map((word) => [word]), ...phrases].map(sequenceOf);
  return (texts) => {
    for (const [at, text] of sequences.length === 0 ? [] : texts.entries()) {
      const ranges = rangesIn(text, sequences);
      const [first] = ranges;
      if (first !== undefined) return { ...cutOut(text, Math.max(0, first[0] - leadUnits), ranges), at };
    }
    const at = Math.max(
      0,
      texts.findIndex((text) => text.trim() !== ''),
    );
    return { ...cutOut(texts[at] ?? '', 0, []), at };
  };
}

/** The snippet in parts that match, and parts between them. */
export function partsOf({ snippet, ranges }: Snippet): { text: string; hit: boolean }[] {
  const edges = [0, ...ranges.flat(), snippet.length];
  const parts = edges.slice(1).map((end, index) => ({ text: snippet.slice(edges[index], end), hit: index % 2 === 1 }));
  return parts.filter(({ text }) => text !== '');
}

function cutOut(text: string, from: number, ranges: readonly Range[]): Snippet {
  const start = from === 0 ? 0 : nextStart(text, from);
  const end = start + limits.snippetUnits >= text.length ? text.length : lastEnd(text, start + limits.snippetUnits);
  const before = start > 0 ? '…' : '';
  const shift = before.length - start;
  const shown = text.slice(start, end).replaceAll(/\s/g, ' ');
  return {
    snippet: `${before}${shown}${end < text.length ? '…' : ''}`,
    ranges: ranges
      .filter(([rangeStart]) => rangeStart >= start && rangeStart < end)
      .map(([rangeStart, rangeEnd]) => [rangeStart + shift, Math.min(rangeEnd, end) + shift]),
  };
}

/** After the next space, if it is near. */
function nextStart(text: string, from: number): number {
  const space = text.slice(from, from + leadUnits / 2).search(/\s/);
  return space === -1 ? wholeCharacter(text, from) : from + space + 1;
}

/** Before the last space, if it is near. */
function lastEnd(text: string, to: number): number {
  const space = text.slice(to - leadUnits / 2, to + 1).search(/\s\S*$/);
  return space === -1 ? wholeCharacter(text, to) : to - leadUnits / 2 + space;
}

/** Not between the two halves of a character. */
const wholeCharacter = (text: string, at: number): number => (/[\udc00-\udfff]/.test(text[at] ?? '') ? at + 1 : at);
