/** Created when first needed: its tables take a while to load. */
let segmenter: Intl.Segmenter | undefined;

/** Counts words by Unicode segmentation, so that languages without spaces are counted too. */
export function countWords(content: string): number {
  if (isPlain(content)) return countPlainWords(content);
  segmenter ??= new Intl.Segmenter(undefined, { granularity: 'word' });
  let words = 0;
  for (const segment of segmenter.segment(content)) if (segment.isWordLike) words += 1;
  return words;
}

/** ASCII without a colon between letters, for which the rules differ between versions of Unicode. */
const isPlain = (content: string): boolean => /^[\x00-\x7f]*$/.test(content) && !/[A-Za-z_]:[A-Za-z_]/.test(content);

/** Unicode's rules for ASCII, at a tenth of the cost: some punctuation joins two letters, some joins two digits. */
const plainWord = /[A-Za-z0-9_]+(?:(?:(?<=[A-Za-z])['.](?=[A-Za-z])|(?<=[0-9])['.,;](?=[0-9]))[A-Za-z0-9_]+)*/g;

function countPlainWords(content: string): number {
  const words = content.match(plainWord);
  if (words === null) return 0;
  // A single underscore is not a word.
  return content.includes('_') ? words.filter((word) => word !== '_').length : words.length;
}
