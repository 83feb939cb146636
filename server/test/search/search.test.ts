import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { it } from 'node:test';
import { limits } from '../../src/contract/limits.ts';
import { makeTwoTenants, message, onEveryEngine, pluck, useService } from '../support/harness.ts';
import { itLong } from '../support/long.ts';

const file = (filename: string) => ({
  id: randomUUID(),
  filename,
  type: 'document',
  url: null,
  mime_type: null,
  size: null,
  transfer_method: 'local_file',
  belongs_to: 'user',
  upload_file_id: null,
});

onEveryEngine('the search', (engine) => {
  const { one, other, admin, records } = makeTwoTenants();
  const get = (path: string, query: Record<string, string | number> = {}) =>
    service.as(admin).get(`${path}?${new URLSearchParams(query as never)}`);
  const search = async (query: Record<string, string | number>) => {
    const { status, body } = await get('/admin/search', query);
    assert.equal(status, 200, JSON.stringify(body));
    return body as { data: { message_id: string; snippet: string; ranges: [number, number][] }[]; next_cursor: string };
  };
  const found = async (query: Record<string, string | number>) =>
    (await search(query)).data.map(({ message_id }) => message_id);
  const marked = async (q: string) => {
    const { data } = await search({ q });
    return data.map(({ snippet, ranges }) => ranges.map(([start, end]) => snippet.slice(start, end)).join('|'));
  };

  const service = useService(engine, records);

  it('200: finds a word that was said, newest first, with the place of the match', async () => {
    const texts = ['The refund was sent', 'No Refunds today', 'nothing here', 'ask for a REFUND, please'];
    const sent = texts.map((answer, index) => message(one.ids.conversation, 100 + index, { query: '', answer }));
    await service.load(sent);
    await service.index();
    assert.deepEqual(await found({ q: 'refund' }), [sent[3]?.id, sent[1]?.id, sent[0]?.id]);
    assert.deepEqual(await marked('refund'), ['REFUND', 'Refunds', 'refund']);
    assert.deepEqual(await found({ q: 'refund sent' }), [sent[0]?.id]);
    assert.deepEqual(
      await found({ q: 'sent refund' }),
      [sent[1], sent[0]].slice(1).map((one) => one?.id),
    );
    assert.deepEqual(await found({ q: '"sent refund"' }), []);
    assert.deepEqual(await found({ q: '"was sent"' }), [sent[0]?.id]);
    assert.deepEqual(await found({ q: '"for a ref' }), [sent[3]?.id]);
    assert.deepEqual(await found({ q: '!!' }), []);
  });

  it('200: a snippet begins and ends with whole words', async () => {
    const words = Array.from({ length: 60 }, (_, index) => `word${index}`);
    await service.load([message(one.ids.conversation, 200, { answer: words.with(30, 'cormorant').join(' ') })]);
    await service.index();
    const [hit] = (await search({ q: 'cormorant' })).data;
    assert.match(hit?.snippet ?? '', /^…word2\d (word2\d )+cormorant (word\d\d )+word\d\d…$/);
  });

  it('200: filters', async () => {
    const id = `f${randomUUID().slice(1)}`;
    const conversation = { record: 'conversation', id, app_id: other.ids.app, user: 'User-8812' };
    const segment = randomUUID();
    const sent = [
      message(conversation.id, 200, { query: 'quokka', feedback: { rating: 'dislike' } }),
      message(conversation.id, 201, { query: 'quokka', status: 'error', error: 'timeout' }),
      message(conversation.id, 202, {
        query: 'quokka',
        message_files: [file('plan.pdf')],
        total_price: '0.5',
        currency: 'USD',
      }),
      message(one.ids.conversation, 203, {
        query: 'quokka',
        provider_response_latency: 12.5,
        total_price: '0.25',
        currency: 'EUR',
      }),
    ];
    await service.load([conversation, ...sent]);
    await service.index();
    const [dislike, error, files, slow] = sent.map(({ id }) => id);
    const q = 'quokka';
    assert.deepEqual(await found({ q }), [slow, files, error, dislike]);
    assert.deepEqual(await found({ q: 'USER-88' }), [files, error, dislike], 'the parts of a name in their order');
    assert.deepEqual(await found({ q: '8812-user' }), []);
    assert.deepEqual(await found({ q, app_id: other.ids.app }), [files, error, dislike]);
    assert.deepEqual(await found({ q, user: 'User-8812' }), [files, error, dislike]);
    assert.deepEqual(await found({ q, user: 'user-8812' }), []);
    assert.deepEqual(await found({ q: 'quokka 8812' }), [files, error, dislike]);
    assert.deepEqual(await found({ q, rating: 'dislike' }), [dislike]);
    assert.deepEqual(await found({ q, status: 'error' }), [error]);
    assert.deepEqual(await found({ q, has: 'files' }), [files]);
    assert.deepEqual(await found({ q, has: 'bad_answer' }), [error, dislike]);
    assert.deepEqual(await found({ q, has: 'bad_answer', rating: 'dislike' }), [dislike]);
    assert.deepEqual(await found({ q, from: 201, to: 203 }), [files, error]);
    assert.deepEqual(await found({ q, min_cost: '0.25' }), [slow, files]);
    assert.deepEqual(await found({ q, min_cost: '0.3' }), [files]);
    assert.deepEqual(await found({ q, min_latency: '12.5' }), [slow]);
    assert.deepEqual(await found({ q, segment_id: segment }), []);
    assert.deepEqual(await found({ q: 'plan' }), [files]);
    assert.deepEqual(await found({ app_id: other.ids.app }), [files, error, dislike]);
    assert.deepEqual(await found({ q: conversation.id }), [files, error, dislike]);
    const parts = [conversation.id.slice(0, 8), conversation.id.slice(0, 10), conversation.id.slice(-12).toUpperCase()];
    for (const part of parts) assert.deepEqual(await found({ q: part, from: 200 }), [files, error, dislike], part);
    assert.deepEqual(
      await found({ q: conversation.id.slice(0, 3), from: 200 }),
      [],
      'short parts of ids are not words',
    );
    assert.deepEqual(await found({ conversation_id: conversation.id.toUpperCase() }), [files, error, dislike]);
    assert.deepEqual(await found({ conversation_id: conversation.id, status: 'error' }), [error]);
    assert.deepEqual(await found({ q, conversation_id: one.ids.conversation }), [slow]);
    const { body } = await get('/admin/search/counts', { q });
    const counts = {
      max: limits.searchCountMax,
      all: 4,
      disliked: 1,
      failed: 1,
      files: 1,
      waiting_form: 0,
      citations: 0,
      bad_answer: 2,
    };
    assert.deepEqual(body, { ...counts, is_partial: false, suggestion: null, is_building: false });
    const suggested = async (query: Record<string, string>) =>
      (await get('/admin/search/counts', query)).body.suggestion;
    assert.equal(await suggested({ q: 'Quoka' }), 'quokka');
    assert.equal(await suggested({ q: 'plan qoukka' }), null, 'another beginning');
    assert.equal(await suggested({ q: 'plan quokak' }), 'plan quokka', 'of messages with the other words');
    assert.equal(await suggested({ q: 'quoka', user: 'nobody' }), null, 'of messages with the other filters');
  });

  it('200: a phrase whose words many messages have is found page by page, and counts are said to be too low', async () => {
    const { conversation } = one.ids;
    const oldest = message(conversation, 300, { query: 'wombat burrow' });
    const newest = message(conversation, 2_600, { query: 'wombat burrow' });
    const others = Array.from({ length: 2_200 }, (_, at) =>
      message(conversation, 301 + at, { query: 'burrow, wombat' }),
    );
    await service.load([oldest, ...others, newest]);
    await service.index();
    const q = '"wombat burrow"';
    const page = await search({ q });
    assert.deepEqual(pluck(page.data, 'message_id'), [newest.id]);
    assert.deepEqual(await found({ q, cursor: page.next_cursor }), [oldest.id]);
    const { body } = await get('/admin/search/counts', { q });
    assert.deepEqual([body.all, body.is_partial], [1, true]);
    // Without the newest one, a page is not empty because the hit is far back.
    const before = { q, to: 2_600 };
    assert.deepEqual(await found(before), [oldest.id]);
    const { body: all } = await get('/admin/search/counts', before);
    assert.deepEqual([all.all, all.is_partial], [1, false]);
  });

  itLong('200: a page ends after many messages that have the words of a phrase, but not the phrase', async () => {
    const { conversation } = one.ids;
    const phrase = message(conversation, 10_000, { query: 'numbat termite' });
    const others = Array.from({ length: limits.searchMissesMax + 100 }, (_, at) =>
      message(conversation, 10_001 + at, { query: 'termite, numbat' }),
    );
    await service.load([phrase, ...others]);
    await service.index();
    const q = '"numbat termite"';
    const page = await search({ q });
    assert.deepEqual(page.data, []);
    assert.deepEqual(await found({ q, cursor: page.next_cursor }), [phrase.id]);
  });

  it('200: words that are joined as in a name are found where they are joined, or if they are nowhere, in sequence', async () => {
    const texts = [
      'heron-17',
      'heron 17',
      'Heron_170',
      'heron, 17',
      '(heron.17)',
      '17-heron',
      'osprey 17',
      '17 osprey',
    ];
    const more = ['crane-fly', 'crane fly', 'ask ibis@example.com now', 'ibis example com', 'heron-17-b'];
    const sent = [...texts, ...more].map((query, at) => message(one.ids.conversation, 5_000 + at, { query }));
    await service.load(sent);
    await service.index();
    const textsOf = async (q: string) => {
      const ids = await found({ q });
      return ids.map((id) => sent.find((one) => one.id === id)?.query);
    };
    assert.deepEqual(await textsOf('heron-17'), ['heron-17-b', '(heron.17)', 'Heron_170', 'heron-17']);
    assert.deepEqual(await textsOf('"heron-17"'), ['heron-17-b', '(heron.17)', 'heron-17']);
    assert.deepEqual(await textsOf('heron-17-b'), ['heron-17-b']);
    assert.deepEqual(await textsOf('"heron 17"'), ['heron-17-b', '(heron.17)', 'heron, 17', 'heron 17', 'heron-17']);
    assert.deepEqual(await textsOf('osprey-17'), ['osprey 17']);
    assert.deepEqual(await textsOf('crane-fly'), ['crane fly', 'crane-fly']);
    assert.deepEqual(await textsOf('ibis@example.com'), ['ask ibis@example.com now']);
    assert.deepEqual(await marked('ibis@example'), ['ibis@example']);
    assert.equal((await service.as(admin).rows('/admin/search?q=heron-17&limit=1')).length, 4);
    const { body } = await get('/admin/search/counts', { q: 'heron-17' });
    assert.equal(body.all, 4);
  });

  it('200: a text that joins few words in very many ways is indexed up to the limits, and what follows it, too', async () => {
    const words = Array.from({ length: 200 }, (_, at) => `${at}`.padStart(40, 'dodo'));
    const pairs = words.flatMap((left) => words.map((right) => `${left}_${right}`));
    // Each word comes first with and without a joiner, so that the rest has only words that are known.
    const known = words.map((word) => `${word}_${words[0]}`);
    const [large, next] = [[...known, ...words, ...pairs].join(' '), 'after the dodo'].map((query, at) =>
      message(one.ids.conversation, 6_000 + at, { query }),
    );
    await service.load([large, next].map((record) => record as object));
    await service.index();
    assert.deepEqual(await found({ q: 'dodo' }), [next?.id, large?.id]);
    assert.deepEqual(await found({ q: `${words[0]}_${words[1]}` }), [large?.id]);
  });

  it('200: a phrase that ends with the beginning of many words is found page by page', async () => {
    const { conversation } = one.ids;
    const phrases = Array.from({ length: 130 }, (_, at) =>
      message(conversation, 3_000 + at, { query: `quoll ${1_700 + at}` }),
    );
    const others = phrases.map((_, at) => message(conversation, 3_200 + at, { query: `${1_700 + at} quoll` }));
    await service.load([...phrases, ...others]);
    await service.index();
    const rows = await service.as(admin).rows('/admin/search?q=quoll-1&limit=50');
    const ids = rows.map(({ message_id }) => message_id);
    assert.deepEqual(ids, phrases.map(({ id }) => id).reverse());
  });
});
