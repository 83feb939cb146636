import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { problemOf, readFromField, shownInField } from '../../../web/console/knowledge/chunk-text.ts';
import { diffWords, type Part } from '../../src/domain/words/word-diff.ts';
import { shortOrLong } from '../support/long.ts';

const textOf = (parts: readonly Part[], without: Part['kind']): string =>
  parts.map(({ kind, text }) => (kind === without ? '' : text)).join('');

/** `the [quick]{slow} fox`: removed text in brackets, added text in braces. */
const marked = (before: string, after: string): string =>
  diffWords(before, after)
    .map(({ kind, text }) => (kind === 'same' ? text : kind === 'gone' ? `[${text}]` : `{${text}}`))
    .join('');

/** A small vocabulary, so that texts have much in common. */
const words = fc.array(fc.constantFrom('a', 'b', 'tea', ' ', '\n', '\r\n', '.', '茶', 'é', '😀', 'e\u0301', '\ud800'), {
  maxLength: 40,
});
const similar = words.map((parts) => parts.join(''));
const any = fc.string({ unit: 'binary', maxLength: 60 });

function assertReversible(before: string, after: string): void {
  const parts = diffWords(before, after);
  assert.equal(textOf(parts, 'new'), before);
  assert.equal(textOf(parts, 'gone'), after);
  assert.ok(parts.every(({ text }) => text !== ''));
}

describe('a word diff', () => {
  for (const [name, texts] of Object.entries({ similar, any }))
    it(`contains both texts: ${name}`, () => {
      fc.assert(fc.property(texts, texts, assertReversible), { numRuns: shortOrLong(200, 5_000) });
    });

  it('has no difference between a text and itself', () => {
    fc.assert(fc.property(similar, (text) => diffWords(text, text).every(({ kind }) => kind === 'same')));
  });

  it('finds a longest common subsequence', () => {
    const letters = fc.array(fc.constantFrom('甲', '乙', '丙'), { maxLength: 12 });
    fc.assert(
      fc.property(letters, letters, (a, b) => {
        const commonParts = diffWords(a.join(''), b.join('')).filter(({ kind }) => kind === 'same');
        assert.equal(commonParts.map(({ text }) => text).join('').length, longestCommon(a, b));
      }),
      { numRuns: shortOrLong(100, 2_000) },
    );
  });

  it('compares words, not letters, and joins adjacent changes', () => {
    assert.equal(marked('the quick brown fox', 'the slow brown dog'), 'the [quick]{slow} brown [fox]{dog}');
    assert.equal(marked('one two three', 'uno dos three'), '[one two]{uno dos} three');
    assert.equal(marked('我们在厨房里', '我们在花园里'), '我们在[厨房]{花园}里');
    assert.equal(marked('', 'new'), '{new}');
    assert.equal(marked('', ''), '');
  });

  it('compares lines, or replaces one block by the other, where comparing words would take too long', () => {
    const letters = (seed: number, joint: string) =>
      Array.from({ length: 50_000 }, (_, at) => ((at * at * seed) % 7 < 3 ? 'a' : 'b')).join(joint);
    const pairs = [
      [letters(3, ' '), letters(5, ' ')],
      [letters(3, '\n'), letters(5, '\n')],
      ['字'.repeat(100_000), '子'.repeat(100_000)],
      ['word '.repeat(20_000), ''],
    ] as const;
    for (const [before, after] of pairs) {
      assertReversible(before, after);
      // A full comparison of words would take minutes.
      assert.ok(diffWords(before, after).length <= 2);
    }
    const line = (at: number) => `${at} ${'so many words that were changed '.repeat(3)}`;
    const old = Array.from({ length: 300 }, (_, at) => line(at)).join('\n');
    const changed = old.replaceAll(/(\d+)([^\n]*)/g, (whole, at) =>
      Number(at) % 2 === 0 ? whole : whole.replaceAll(' ', ' x'),
    );
    assertReversible(old, changed);
    assert.ok(diffWords(old, changed).some(({ kind, text }) => kind === 'same' && text.startsWith('100 ')));
  });
});

describe('the text of a chunk in the console', () => {
  it('is rejected where the server would reject it', () => {
    for (const text of ['', ' \n\t', '\u0085\u00a0', 'x'.repeat(100_001), 'a\0b', 'a\ud800b'])
      assert.ok(problemOf(text), text);
    for (const text of ['x', 'x'.repeat(100_000), '😀']) assert.equal(problemOf(text), undefined);
  });

  it('keeps its line endings through a text field', () => {
    for (const text of ['a\nb\n', 'a\r\nb\r\n', 'a', '\r\n'])
      assert.equal(readFromField(shownInField(text), text), text);
    assert.equal(readFromField('a\nb\nc', 'a\r\nb'), 'a\r\nb\r\nc');
    assert.equal(readFromField('a\nb', 'a\r\nb\n'), 'a\nb');
  });
});

/** The length of the longest common subsequence. */
function longestCommon(a: readonly string[], b: readonly string[]): number {
  let row = new Array<number>(b.length + 1).fill(0);
  for (const one of a) {
    const next = [0];
    b.forEach((other, at) => {
      next.push(one === other ? (row[at] ?? 0) + 1 : Math.max(next[at] ?? 0, row[at + 1] ?? 0));
    });
    row = next;
  }
  return row.at(-1) ?? 0;
}
