import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { countWords } from '../../src/domain/records/count-words.ts';
import { shortOrLong } from '../support/long.ts';

const segmenter = new Intl.Segmenter(undefined, { granularity: 'word' });
const countSegments = (text: string): number =>
  [...segmenter.segment(text)].filter(({ isWordLike }) => isWordLike === true).length;

/** Letters, digits and separators, drawn from a small set so that they often occur next to each other. */
const tricky = fc.string({ unit: fc.constantFrom(...'aZ09_\'".,:;-/ \n\t\r'), maxLength: 12 });
const ascii = fc.string({ unit: 'binary-ascii', maxLength: 40 });

describe('word counts', () => {
  for (const [name, texts] of Object.entries({ tricky, ascii, any: fc.string({ unit: 'binary' }) }))
    it(`match Unicode word segmentation: ${name} texts`, () => {
      fc.assert(
        fc.property(texts, (text) => assert.equal(countWords(text), countSegments(text))),
        { numRuns: shortOrLong(500, 20_000) },
      );
    });

  it('match Unicode word segmentation for underscores, decimal numbers, abbreviations and colons between letters', () => {
    for (const text of ['_', '__', 'a _ b', '3.141,5', 'e.g. it', "don't", 'a:b', 'x_1', '1_000', '']) {
      assert.equal(countWords(text), countSegments(text), text);
    }
  });
});
