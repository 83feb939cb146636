import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import fc from 'fast-check';
import { fold, tokensOf } from '../../src/domain/words/tokens.ts';
import { makeTwoTenants, message, onEveryEngine, pluck, useService } from '../support/harness.ts';

/** A text, queries that find it with the parts that are marked, and queries that do not find it. */
const table: [text: string, found: Record<string, string>, notFound: string[]][] = [
  [
    'The café serves crème brûlée daily',
    { cafe: 'café', CAFÉ: 'café', 'creme brul': 'crème|brûlée', '"cafe serves"': 'café serves', daily: 'daily' },
    ['caffe', '"serves cafe"', 'aily', 'cafe tea'],
  ],
  [
    'Die Straße heißt Übergrößenallee',
    { strasse: 'Straße', STRASSE: 'Straße', ubergross: 'Übergrößenallee' },
    ['alle'],
  ],
  ['Οι οδοί της Αθήνας, η ΟΔΟΣ', { οδος: 'ΟΔΟΣ', αθηνας: 'Αθήνας', ΑΘΗΝΑΣ: 'Αθήνας' }, ['θηνας']],
  ['Насос гудит, ёлка стоит', { насос: 'Насос', елка: 'ёлка', 'гудит стоит': 'гудит|стоит' }, ['асос']],
  ['İstanbul ve ılık su', { istanbul: 'İstanbul', ilik: 'ılık' }, ['stanbul']],
  ['شاهدتُ الكِتابَ الجديد', { الكتاب: 'الكِتابَ', شاهدت: 'شاهدتُ' }, ['كتاب']],
  ['שָׁלוֹם לכולם', { שלום: 'שָׁלוֹם', לכולם: 'לכולם' }, ['לום']],
  ['हिन्दी में किताब', { हिन्दी: 'हिन्दी', किताब: 'किताब' }, ['हन्दी', 'कताब']],
  ['한국어 문서를 찾아요', { 한국어: '한국어', 한국: '한국어', 문서: '문서를' }, ['국어']],
  ['我想退款，谢谢', { 退款: '退款', 款: '款', 我想退: '我想退', '"想退款"': '想退款' }, ['款退', '退谢', '退款我']],
  ['東京都に住んでいる', { 東京: '東京', 京都: '京都', 都: '都に', 住んで: '住んで' }, ['東都', '都京']],
  ['カフェでコーヒーを飲む', { コーヒー: 'コーヒー', カフェ: 'カフェ' }, ['コーヒ飲む']],
  ['ハンガーとバンガロー', { ハンガー: 'ハンガー' }, ['パンガー']],
  ['สวัสดีชาวโลก', { ชาวโลก: 'ชาวโลก', สวัสดี: 'สวัสดี' }, ['โลกชาว']],
  ['ﬁnal ① ｗｉｄｅ', { final: 'ﬁnal', 1: '①', wide: 'ｗｉｄｅ' }, []],
  ['iPhone手机 snake_case x-ray', { iphone: 'iPhone手机', 手机: 'iPhone手机', case: 'case', ray: 'ray' }, ['nake']],
  ['𝒻oo and 𠮷野家 😀', { foo: '𝒻oo', 𠮷野: '𠮷野', 野家: '野家' }, ['吉野']],
];

onEveryEngine('the search in many languages', (engine) => {
  const { one, admin, records } = makeTwoTenants();
  const sent = table.map(([answer], index) => message(one.ids.conversation, index, { query: '', answer }));
  const search = async (q: string) => {
    const query = new URLSearchParams({ q, limit: '100' });
    const { status, body } = await service.as(admin).get(`/admin/search?${query}`);
    assert.equal(status, 200);
    return body.data as { message_id: string; snippet: string; ranges: [number, number][] }[];
  };

  const service = useService(engine, [...records, ...sent]);
  before(async () => {
    await service.index();
  });

  for (const [index, [text, found, notFound]] of table.entries()) {
    it(text, async () => {
      const id = sent[index]?.id as string;
      for (const [q, marked] of Object.entries(found)) {
        const hit = (await search(q)).find(({ message_id }) => message_id === id);
        assert.ok(hit, `${q} is not found`);
        const { snippet, ranges } = hit;
        assert.equal(ranges.map(([start, end]) => snippet.slice(start, end)).join('|'), marked, q);
      }
      for (const q of notFound) {
        assert.ok(!(await search(q)).some(({ message_id }) => message_id === id), `${q} is found`);
      }
    });
  }
});

describe('tokens', () => {
  it('are the words of Intl.Segmenter, split at punctuation, where words have spaces', () => {
    const segmenter = new Intl.Segmenter(undefined, { granularity: 'word' });
    const words = [
      'a',
      'Éa',
      "d'or",
      '0',
      '3.5',
      'x_y',
      'ñß',
      'абв',
      'ёлка',
      'σας',
      'אב',
      'ابت',
      'हिन्दी',
      '한국어',
      '-',
      '@',
      '(',
    ];
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...words, '\n'), { maxLength: 40 }), (parts) => {
        const text = parts.join(' ');
        const segments = [...segmenter.segment(text)]
          .filter(({ isWordLike }) => isWordLike)
          .flatMap(({ segment }) => segment.match(/[\p{L}\p{N}][\p{L}\p{N}\p{M}]*/gu) ?? []);
        const tokens = [...tokensOf(text)];
        assert.deepEqual(pluck(tokens, 'token'), segments.map(fold));
        for (const { token, start, end } of tokens) assert.equal(fold(text.slice(start, end)), token);
      }),
    );
  });
});
