/** Made with the first text: its tables take a while to load. */
let segmenter: Intl.Segmenter | undefined;

/** Words by Unicode segmentation, so languages without spaces count too. */
export function countWords(content: string): number {
  segmenter ??= new Intl.Segmenter(undefined, { granularity: 'word' });
  let words = 0;
  for (const segment of segmenter.segment(content)) if (segment.isWordLike) words += 1;
  return words;
}
