/** Made with the first text that needs it: its tables take a while to load. */
let segmenter: Intl.Segmenter | undefined;

/** Words by Unicode segmentation, so languages without spaces count too. */
export function countWords(content: string): number {
  if (isPlain(content)) return countPlainWords(content);
  segmenter ??= new Intl.Segmenter(undefined, { granularity: 'word' });
  let words = 0;
  for (const segment of segmenter.segment(content)) if (segment.isWordLike) words += 1;
  return words;
}

/** ASCII; and not a colon between letters, about which versions of Unicode differ. */
const isPlain = (content: string): boolean => /^[\x00-\x7f]*$/.test(content) && !/[A-Za-z_]:[A-Za-z_]/.test(content);

/** The same rules as far as ASCII goes, at a tenth of the cost: some marks join two letters, some two digits. */
const plainWord = /[A-Za-z0-9_]+(?:(?:(?<=[A-Za-z])['.](?=[A-Za-z])|(?<=[0-9])['.,;](?=[0-9]))[A-Za-z0-9_]+)*/g;

function countPlainWords(content: string): number {
  const words = content.match(plainWord);
  if (words === null) return 0;
  // One underline by itself is no word.
  return content.includes('_') ? words.filter((word) => word !== '_').length : words.length;
}
