import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { hasTokens, parseQuery, phraseComparer, tokensInQuery } from '../../src/domain/words/search-query.ts';
import { snippetCutter } from '../../src/domain/words/snippets.ts';
import { indexTokens, type QueryToken, queryTokens, tokensOf } from '../../src/domain/words/tokens.ts';
import { shortOrLong } from '../support/long.ts';

/** They are cut to the same token. */
const [long, sameStart] = ['1', '2'].map((end) => `${'x'.repeat(40)}${end}`) as [string, string];
const words = ['a', 'ab', 'B', 'user', '17', '170', 'é', '猫', 'ａ', long, sameStart];
const separators = [' ', '-', '_', ', ', '\n', '\\n', '', ' – ', '’', '@', '。', '🙂', '--', '\u{301}'];
const textOf = (wordsMax: number) =>
  fc
    .array(fc.tuple(fc.constantFrom(...words), fc.constantFrom(...separators)), { maxLength: wordsMax })
    .map((parts) => parts.flat().join(''));

const has = (texts: readonly string[], phrase: readonly QueryToken[]): boolean =>
  texts.some((one) => {
    const tokens = [...tokensOf(one)].map(({ token }) => token);
    return tokens.some((_, start) =>
      phrase.every(({ token, isPrefix }, at) => {
        const found = tokens[start + at];
        return isPrefix ? found?.startsWith(token) : found === token;
      }),
    );
  });

const tokensOfAll = (queries: readonly [string, boolean][]): QueryToken[][] =>
  queries.map(([query, isPrefix]) => queryTokens(query, isPrefix)).filter(({ length }) => length > 0);

/** A phrase with a long word, and one whose first words alone occur. */
const examples: [string[], [string, boolean][]][] = [
  [[`${long}-a`], [[`${sameStart} a`, false]]],
  [['user '.repeat(9)], [[`${'user '.repeat(8)}a`, false]]],
];

it('phrases are found wherever their tokens follow each other in one text', () => {
  fc.assert(
    fc.property(
      fc.array(textOf(8), { maxLength: 3 }),
      fc.array(fc.tuple(textOf(3), fc.boolean()), { maxLength: 2 }),
      (texts, queries) => {
        const phrases = tokensOfAll(queries);
        const comparison = phraseComparer({ words: [], phrases })(texts);
        let step = comparison.next();
        while (!step.done) step = comparison.next();
        assert.equal(
          step.value,
          phrases.every((phrase) => has(texts, phrase)),
        );
      },
    ),
    { numRuns: shortOrLong(2_000, 50_000), examples },
  );
});

it('a snippet of an ASCII text marks the same as if a letter far behind were not ASCII', () => {
  fc.assert(
    fc.property(
      textOf(12),
      fc.array(fc.tuple(textOf(3), fc.boolean()), { minLength: 1, maxLength: 3 }),
      (text, queries) => {
        const cut = snippetCutter({ words: [], phrases: tokensOfAll(queries) });
        const [plain, other] = ['q', 'ø'].map((end) => cut([`${text}${' '.repeat(1_000)}${end}`]));
        assert.deepEqual(plain, other);
      },
    ),
    { numRuns: shortOrLong(2_000, 50_000), examples: [['a a a', [['a a', false]]]] },
  );
});

it('the index has the tokens of each part of a text, joined or not, that is searched for as it is', () => {
  fc.assert(
    fc.property(textOf(8), (text) => {
      const tokens = indexTokens([text]);
      for (const part of text.split(/\s+/)) {
        const wanted = tokensInQuery(parseQuery(part));
        assert.ok(hasTokens([...tokens], wanted), `${part}: ${JSON.stringify(wanted)}`);
      }
      const words = new Set([...tokensOf(text)].map(({ token }) => token));
      const joined = [...tokens].filter((token) => !words.delete(token));
      assert.equal(words.size, 0);
      for (const token of joined) {
        const [left, right, ...others] = token.split('\u{e001}').map((word) => ({ token: word, isPrefix: false }));
        assert.ok(left && right && others.length === 0 && has([text], [left, right]), token);
      }
    }),
    { numRuns: shortOrLong(2_000, 50_000), examples: [['user-17 a_b猫-a'], ["it's a-b, a@b.17"]] },
  );
});
