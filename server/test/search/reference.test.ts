import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { it } from 'node:test';
import fc from 'fast-check';
import { purge } from '../../src/domain/erasure/purge.ts';
import { makeTwoTenants, message, onEveryEngine, startService } from '../support/harness.ts';
import { shortOrLong } from '../support/long.ts';

/** Words of few letters, so that queries often match, and parts of words that are beginnings of others. */
const words = [
  'a',
  'ab',
  'abc',
  'Äb',
  'b',
  'bc',
  'c-a',
  '12',
  '123',
  'x_1',
  '猫',
  '黒猫',
  '猫が',
  'ไทย',
  'Straße',
  'ss',
];
const text = fc.array(fc.constantFrom(...words, '.', '"'), { maxLength: 6 }).map((parts) => parts.join(' '));

const simplify = (found: string): string =>
  found.toLowerCase().replaceAll('ä', 'a').replaceAll('ß', 'ss').replaceAll(/[_-]/g, ' ');
const wordsOf = (found: string): string[] =>
  simplify(found)
    .split(/[^\p{L}\p{N}\p{M}]+/u)
    .filter((word) => word !== '');
const isSpaceless = (word: string): boolean => /^[猫黒がไทย]/u.test(word);

/** Whether a text has a word of a query: scripts without spaces contain it, in others a word is equal or begins with it. */
const hasWord = (found: string[], word: string, isLast: boolean): boolean =>
  found.some((one) => (isSpaceless(word) ? one.includes(word) : isLast ? one.startsWith(word) : one === word));

function matches(texts: string[], query: string): boolean {
  const found = texts.flatMap(wordsOf);
  const wanted = wordsOf(query);
  return wanted.length > 0 && wanted.every((word, at) => hasWord(found, word, at === wanted.length - 1));
}

onEveryEngine('the search against a reference', (engine) => {
  it('finds what a simple search through all texts finds', async (t) => {
    const { one, admin, records } = makeTwoTenants();
    const service = await startService(engine);
    t.after(() => service.close());
    const conversation = { record: 'conversation', id: one.ids.conversation, app_id: one.ids.app, user: 'zoe' };
    await service.load([...records, conversation]);
    let expectedTexts = new Map<string, string[]>();
    let time = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(text, text), { minLength: 1, maxLength: 4 }),
        fc.array(
          text.map((part) => part.replaceAll('"', '')),
          { minLength: 4, maxLength: 8 },
        ),
        fc.boolean(),
        async (added, queries, replaces) => {
          const sent = added.map(([query, answer]) =>
            message(one.ids.conversation, (time += 1), {
              query,
              answer,
              id: (replaces && [...expectedTexts.keys()][0]) || randomUUID(),
            }),
          );
          // A record replaces an earlier one with its id.
          for (const record of sent) {
            expectedTexts.delete(record.id);
            expectedTexts.set(record.id, [record.query, record.answer]);
            await service.load([record]);
          }
          await service.index();
          for (const q of queries.filter((query) => query !== '')) {
            const path = `/admin/search?${new URLSearchParams({ q, limit: '100', app_id: one.ids.app, from: '1' })}`;
            const { body } = await service.as(admin).get(path);
            const found = body.data.map(({ message_id }: { message_id: string }) => message_id);
            const expected = [...expectedTexts].filter(([, texts]) => matches(texts, q)).map(([id]) => id);
            assert.deepEqual(found.toSorted(), expected.toSorted(), q);
          }
          if (expectedTexts.size > 60) {
            expectedTexts = new Map();
            await purge(service.store, { conversation_id: one.ids.conversation }, { key_id: null, now: 1 });
            await service.load([conversation]);
          }
        },
      ),
      { numRuns: shortOrLong(10, 300) },
    );
  });
});
