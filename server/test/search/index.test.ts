import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { it } from 'node:test';
import { execute } from '../../../experiments/support/schema-databases.ts';
import { purge } from '../../src/domain/erasure/purge.ts';
import { filesContaining } from '../support/cli-helpers.ts';
import { makeTwoTenants, message, onEveryEngine, startService, useService } from '../support/harness.ts';
import { citation, pendingForm } from '../support/rich-messages.ts';

const citationOf = (message_id: string, segment_id: string) => ({ ...citation(message_id), segment_id });

type Query = Record<string, string | number>;

onEveryEngine('the index of the search', (engine) => {
  const { one, other, admin, records } = makeTwoTenants();
  const get = (path: string, query: Query = {}, from = service) =>
    from.as(admin).get(`${path}?${new URLSearchParams(query as never)}`);
  const found = async (query: Query): Promise<string[]> => {
    const { status, body } = await get('/admin/search', { limit: 100, ...query });
    assert.equal(status, 200, JSON.stringify(body));
    return body.data.map(({ message_id }: { message_id: string }) => message_id);
  };
  const conversationOf = (user: string, more: object = {}) => ({
    record: 'conversation',
    id: randomUUID(),
    app_id: one.ids.app,
    user,
    ...more,
  });

  const service = useService(engine, records);

  it('has the texts of items, as they are now; readers of /v1 see and find nothing of them', async () => {
    const { ids, keys } = one;
    const sent = message(ids.conversation, 9, { query: 'asks', answer: 'the answer' });
    const call = { type: 'function_call', call_id: 'zyxcall', name: 'weather', arguments: '{"city":"Zyxoslo"}' };
    const items = [{ role: 'user', content: 'asks' }, call, { type: 'reasoning', summary: [{ text: 'zyxthought' }] }];
    await service.load([{ ...sent, items, trace_id: 'zyxtrace' }]);
    await service.index();
    assert.deepEqual(await found({ q: 'zyxoslo' }), [sent.id]);
    assert.deepEqual(await found({ q: '"zyxthought"' }), [sent.id]);
    assert.deepEqual(await found({ q: 'zyxcall' }), []);
    const read = async (path: string) => (await service.as(keys.app).get(path)).text;
    const page = await read(`/v1/messages?conversation_id=${ids.conversation}&user=ann`);
    assert.match(page, /the answer/);
    assert.doesNotMatch(page, /zyx|items|trace_id/i);
    assert.match(await read('/v1/messages/search?query=answer&user=ann'), new RegExp(sent.id));
    assert.doesNotMatch(await read('/v1/messages/search?query=zyxoslo&user=ann'), /message_id/);
    await service.load([{ ...sent, items: items.slice(0, 2) }]);
    await service.index();
    assert.deepEqual(await found({ q: 'zyxthought' }), []);
    assert.deepEqual(await found({ q: 'zyxoslo' }), [sent.id]);
  });

  it('follows ratings', async () => {
    const { id } = message(one.ids.conversation, 10, {});
    await service.load([{ ...message(one.ids.conversation, 10, { query: 'rated' }), id }]);
    await service.index();
    assert.deepEqual(await found({ q: 'rated', rating: 'dislike' }), []);
    for (const rating of ['dislike', 'like', null]) {
      const body = { rating, user: 'ann' };
      await service.as(one.keys.writer).post(`/v1/messages/${id}/feedbacks`, body);
      const path = `/v1/messages/${id}/feedbacks`;
      await service.as(one.keys.app).post(path, body);
      await service.index();
      assert.deepEqual(await found({ q: 'rated', rating: 'dislike' }), rating === 'dislike' ? [id] : []);
      assert.deepEqual(await found({ q: 'rated', rating: 'like' }), rating === 'like' ? [id] : []);
      assert.deepEqual(await found({ q: 'rated' }), [id]);
    }
  });

  it('keeps apart messages of two conversations with the same ids', async () => {
    const conversations = [conversationOf('Ida'), conversationOf('Ida')];
    const ids = [randomUUID(), randomUUID()].sort();
    const textOf = (at: number, nth: number, query: string) => ({
      ...message(conversations[at]?.id ?? '', 15 + nth, { query, answer: '' }),
      id: ids[nth],
    });
    const all = [textOf(0, 0, 'osprey'), textOf(0, 1, 'osprey'), textOf(1, 0, 'osprey'), textOf(1, 1, 'osprey')];
    const changed = [textOf(0, 0, 'osprey nest'), textOf(1, 1, 'osprey nest')];
    await service.load([...conversations, ...all]);
    await service.index();
    await service.load(changed);
    await service.index();
    assert.deepEqual((await found({ q: 'osprey' })).sort(), [ids[0], ids[0], ids[1], ids[1]]);
    for (const { conversation_id, id } of changed) {
      const path = `/admin/apps/${one.ids.app}/conversations/${conversation_id}/messages/${id}`;
      assert.equal((await service.as(admin).delete(path)).status, 204);
    }
    await service.index();
    assert.deepEqual((await found({ q: 'osprey' })).sort(), ids);
  });

  it('follows replaced texts, moved messages, users, deletion and undeletion', async () => {
    const conversation = conversationOf('Bea Bloom');
    const sent = message(conversation.id, 20, { query: 'heron', answer: '' });
    await service.load([conversation, sent]);
    await service.index();
    assert.deepEqual(await found({ q: 'heron' }), [sent.id]);
    await service.load([{ ...sent, query: 'egret', created_at: 25 }]);
    // The old text is gone at once, before the indexer comes.
    assert.deepEqual(await found({ q: 'heron' }), []);
    await service.index();
    assert.deepEqual(await found({ q: 'heron' }), []);
    assert.deepEqual(await found({ q: 'egret', from: 25, to: 26 }), [sent.id]);
    assert.deepEqual(await found({ q: 'egret bloom' }), [sent.id]);
    await service.load([{ ...conversation, user: 'Cleo' }]);
    await service.index();
    assert.deepEqual(await found({ q: 'egret bloom' }), []);
    assert.deepEqual(await found({ q: 'egret cleo', user: 'Cleo' }), [sent.id]);
    await service.load([{ ...conversation, user: 'Cleo', deleted: true }]);
    assert.deepEqual(await found({ q: 'egret' }), []);
    await service.index();
    assert.deepEqual(await found({ q: 'egret' }), []);
    assert.equal((await get('/admin/search/counts', { q: 'egret' })).body.all, 0);
    await service.load([{ ...conversation, user: 'Cleo', deleted: false }]);
    await service.index();
    assert.deepEqual(await found({ q: 'egret' }), [sent.id]);
  });

  it('follows the user of a conversation with more messages than one transaction indexes', async () => {
    const conversation = conversationOf('dora');
    const sent = Array.from({ length: 130 }, (_, at) => message(conversation.id, 30, { query: `puffin ${at}` }));
    await service.load([conversation, ...sent]);
    await service.index();
    await service.load([{ ...conversation, user: 'ella' }]);
    await service.index();
    assert.deepEqual(await found({ q: 'puffin', user: 'dora' }), []);
    assert.equal((await get('/admin/search/counts', { q: 'puffin', user: 'ella' })).body.all, 130);
  });

  it('has nothing of a purged conversation, not even before the indexer comes', async () => {
    const [word, phrase] = ['zyxoquent', '絶滅危惧'];
    const conversation = conversationOf(`user-of-${word}`);
    const sent = [word, `${phrase}種`, `${word} ${phrase}`].map((query) => message(conversation.id, 40, { query }));
    await service.load([conversation, ...sent, message(one.ids.conversation, 41, { query: 'zyxoquentless' })]);
    await service.index();
    assert.equal((await found({ q: word })).length, 4);
    await purge(service.store, { conversation_id: conversation.id }, { key_id: null, now: 1 });
    assert.equal((await found({ q: word })).length, 1);
    assert.deepEqual(await found({ q: phrase }), []);
    assert.equal((await get('/admin/search/counts', { q: conversation.id })).body.all, 0);
    if (engine === 'sqlite') {
      const path = service.config.database_url.replace('sqlite:', '');
      for (const text of [phrase, phrase.slice(0, 2), 'user-of-zyxo']) {
        assert.deepEqual(filesContaining(path, text), [], text);
      }
    }
    await service.index();
    assert.equal((await found({ q: word })).length, 1);
  });

  it('finds citations, forms and those that wait', async () => {
    const segment_id = randomUUID();
    const cited = message(one.ids.conversation, 50, { query: 'cited' });
    const form = { ...pendingForm().form_definition, expiration_time: 4_000 };
    const waiting = message(one.ids.conversation, 51, {
      query: 'formed',
      extra_contents: [{ ...pendingForm(), form_definition: form }],
    });
    const expired = message(one.ids.conversation, 52, { query: 'formed', extra_contents: [pendingForm()] });
    await service.load([{ ...cited, retriever_resources: [citationOf(cited.id, segment_id)] }, waiting, expired]);
    await service.index();
    service.freezeClock(3_500_000);
    assert.deepEqual(await found({ segment_id }), [cited.id]);
    assert.deepEqual(await found({ segment_id, has: 'citations' }), [cited.id]);
    assert.deepEqual(await found({ q: 'formed', has: 'form' }), [expired.id, waiting.id]);
    assert.deepEqual(await found({ q: 'formed', has: 'waiting_form' }), [waiting.id]);
    const counts = (await get('/admin/search/counts', { q: 'formed' })).body;
    assert.deepEqual([counts.all, counts.waiting_form, counts.citations], [2, 1, 0]);
    assert.equal((await get('/admin/search/counts', { q: 'formed', status: 'error' })).body.all, 0);
    service.freezeClock();
  });

  it('from and to are exact for a second with more messages than it has positions', async () => {
    await service.index();
    const second = 500;
    const database = { engine, url: service.config.database_url, remove: async () => undefined };
    // Entries at its first position and at the last one.
    const used = [0, 65_535].map((at) => second * 65_536 + at);
    await execute(
      database,
      used.map((position) => ({
        text: `INSERT INTO search_messages (position, conversation_id, id, created_at, latency)
          VALUES (${position}, '${one.ids.conversation}', 'at ${position}', ${second}, 1)`,
      })),
    );
    const sent = Array.from({ length: 5 }, () => message(one.ids.conversation, second, { query: 'gannet' }));
    const next = message(one.ids.conversation, second + 1, { query: 'gannet' });
    await service.load([...sent, next]);
    await service.index();
    const outside = `SELECT id FROM search_messages WHERE created_at = ${second} AND position >= ${(second + 1) * 65_536}`;
    assert.equal((await execute(database, [{ text: outside }])).length, 5);
    const ids = sent.map(({ id }) => id).sort();
    for (const q of ['gannet', 'gann']) {
      assert.deepEqual((await found({ q, from: second, to: second + 1 })).sort(), ids);
      assert.deepEqual(await found({ q, to: second }), []);
      assert.deepEqual(await found({ q, from: second + 1 }), [next.id]);
      const range = { q, from: second, to: second + 1 };
      assert.equal((await get('/admin/search/counts', range)).body.all, 5);
    }
    assert.deepEqual((await found({ from: second, to: second + 1 })).sort(), ids);
    const rows = await service.as(admin).rows(`/admin/search?q=gannet&to=${second + 1}&limit=2`);
    const inPages = rows.map(({ message_id }) => message_id);
    assert.deepEqual(inPages.sort(), ids);
  });

  it('pages do not repeat or skip a message while others are written', async () => {
    const conversation = conversationOf('paula');
    const sent = Array.from({ length: 25 }, (_, at) => message(conversation.id, 60 + (at % 5), { query: 'pelican' }));
    await service.load([conversation, ...sent]);
    await service.index();
    const pages: string[] = [];
    for (let cursor: string | null = null; ; ) {
      const query = { q: 'pelican', limit: 4, ...(cursor && { cursor }) };
      const { body } = await get('/admin/search', query);
      pages.push(...body.data.map(({ message_id }: { message_id: string }) => message_id));
      assert.equal(body.has_more, body.next_cursor !== null);
      cursor = body.next_cursor;
      if (cursor === null) break;
      await service.load([message(conversation.id, 70, { query: 'pelican' })]);
      await service.index();
    }
    assert.deepEqual(pages.toSorted(), sent.map(({ id }) => id).toSorted());
    const times = new Map<string, number>(sent.map(({ id, created_at }) => [id, created_at]));
    const order = pages.map((id) => times.get(id) as number);
    assert.deepEqual(
      order,
      order.toSorted((a, b) => b - a),
    );
  });

  it('finds segments and child chunks, and follows their edits', async () => {
    const knowledge = async (q: string) => (await get('/admin/search', { in: 'knowledge', q })).body.data;
    await service.index();
    const names = { dataset_id: other.ids.dataset, document_id: other.ids.document, segment_id: other.ids.segment };
    const about = { dataset_name: 'dataset', document_name: 'document', segment_position: 1 };
    const inBase = (dataset_id: string) => get('/admin/search', { in: 'knowledge', q: 'text', dataset_id });
    assert.ok((await knowledge('text')).length > 2, 'of both knowledge bases');
    const hits = (await inBase(other.ids.dataset)).body.data;
    assert.equal((await inBase(randomUUID())).status, 404);
    assert.deepEqual(hits, [
      {
        ...{ ...names, ...about, child_chunk_id: other.ids.chunk, child_chunk_position: 1 },
        ...{ snippet: 'chunk text', ranges: [[6, 10]] },
      },
      {
        ...{ ...names, ...about, child_chunk_id: null, child_chunk_position: null },
        ...{ snippet: 'segment text', ranges: [[8, 12]] },
      },
    ]);
    assert.equal((await knowledge(other.ids.chunk)).length, 1);
    const body = { content: 'an albatross' };
    await service.as(other.keys.knowledge).patch(other.chunkPath, body);
    // The old text is gone at once, before the indexer comes.
    const ids = (await knowledge('text')).map(({ child_chunk_id }: { child_chunk_id: string }) => child_chunk_id);
    assert.ok(!ids.includes(other.ids.chunk), String(ids));
    assert.equal((await knowledge(other.ids.chunk)).length, 1);
    await service.index();
    assert.equal((await knowledge('albatross')).length, 1);
    assert.equal((await knowledge('"chunk text"')).length, 1);
    await service.as(other.keys.knowledge).delete(other.chunkPath);
    await service.index();
    assert.deepEqual(await knowledge('albatross'), []);
  });

  it('is the same after it was built again, because of a new epoch or on request', async () => {
    await service.index();
    const hits = async () => {
      const { body } = await get('/admin/search', { limit: 100 });
      return body.data.map(({ message_id, snippet }: Record<string, string>) => `${message_id} ${snippet}`).sort();
    };
    const counts = async () => (await get('/admin/search/counts', {})).body;
    const [expected, expectedCounts] = [await hits(), await counts()];
    await service.store.changes.startEpoch();
    await service.index();
    assert.deepEqual([await hits(), await counts()], [expected, expectedCounts]);
    assert.equal(expectedCounts.is_building, false);
    await service.store.search.reset('other rules');
    assert.deepEqual(await hits(), []);
    assert.equal((await counts()).is_building, true);
    // It is not known which tokens a change of the text removes from an index with other rules.
    await service.load([message(one.ids.conversation, 80, { query: 'late' })]);
    await service.index();
    assert.equal((await hits()).length, expected.length + (expected.length < 100 ? 1 : 0));
    assert.equal((await counts()).all, expectedCounts.all + 1);
  });

  it('404: SEARCH or CHANGES is off', async () => {
    for (const [name, reason] of [
      ['SEARCH', 'the search is off (SEARCH=off)'],
      ['CHANGES', 'the search is off, since the change feed is off (CHANGES=off)'],
    ] as const) {
      const off = await startService(engine, { [name]: 'off' });
      try {
        await off.load(records);
        for (const path of ['/admin/search', '/admin/search/counts']) {
          const { status, body } = await get(path, {}, off);
          assert.deepEqual([status, body.code, body.message], [404, 'not_found', reason]);
        }
        const { text } = await off.as(admin).get('/metrics');
        assert.doesNotMatch(text, /^backscroll_search_lag_changes \d/m);
      } finally {
        await off.close();
      }
    }
  });

  it('its lag is in the metrics', async () => {
    const values = async () => {
      const { text } = await service.as(admin).get('/metrics');
      return ['lag_changes', 'lag_seconds', 'building'].map((name) =>
        Number(new RegExp(`^backscroll_search_${name} (\\d+)$`, 'm').exec(text)?.[1]),
      );
    };
    await service.index();
    assert.deepEqual(await values(), [0, 0, 0]);
    await service.load([message(one.ids.conversation, 90)]);
    service.advanceClock(30);
    const [changes = 0, seconds = 0, building] = await values();
    assert.ok(changes >= 1 && seconds >= 30 && building === 0, `${changes} ${seconds} ${building}`);
    await service.store.search.reset('');
    assert.equal((await values())[2], 1);
    await service.index();
    assert.deepEqual(await values(), [0, 0, 0]);
  });
});
