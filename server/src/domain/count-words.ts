const segmenter = new Intl.Segmenter(undefined, { granularity: 'word' });

/** Words by Unicode segmentation, so languages without spaces count too. */
export function countWords(content: string): number {
  let words = 0;
  for (const segment of segmenter.segment(content)) if (segment.isWordLike) words += 1;
  return words;
}
