/** The text of a chunk, by the rules of the service. */

/** UTF-16 units, which is what a browser calls a character too. */
export const unitsMax = 100_000;

const segmenter = new Intl.Segmenter('en', { granularity: 'word' });

/** Words by Unicode segmentation, so languages without spaces count too. */
export function countWords(text: string): number {
  let words = 0;
  for (const segment of segmenter.segment(text)) if (segment.isWordLike) words += 1;
  return words;
}

/** Why the service would not take the text. */
export function problemOf(text: string): string | undefined {
  if (text.trim() === '') return 'The text is blank.';
  if (text.length > unitsMax) return 'The text is too long.';
  if (text.includes('\0')) return 'The text holds a NUL character.';
  if (!text.isWellFormed()) return 'The text holds half a character.';
  return undefined;
}

/** In a text field every line end is one `\n`. */
export const shownInField = (text: string): string => text.replace(/\r\n?/g, '\n');

/** What a field holds, with the line ends of the text that it is to replace: nobody typed a change to them. */
export function readFromField(value: string, before: string): string {
  const isWindows = before.includes('\r\n') && !/\r(?!\n)|(?<!\r)\n/.test(before);
  return isWindows ? value.replaceAll('\n', '\r\n') : value;
}
