import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { before, it } from 'node:test';
import { limits } from '../../src/contract/limits.ts';
import { makeTwoTenants, message, onEveryEngine, useService } from '../support/harness.ts';

type Hit = {
  conversation_id: string;
  message_id: string;
  hit_count: number | null;
  snippet: string;
  feedback_content: string | null;
};
type Sent = { id: string; conversation_id: string; created_at: number; query: string };

onEveryEngine('hits by conversation', (engine) => {
  const { one, admin, records } = makeTwoTenants();
  const conversations = Array.from({ length: 9 }, () => randomUUID());
  let sent: Sent[] = [];
  const get = async (query: Record<string, string | number>) =>
    (await service.as(admin).get(`/admin/search?${new URLSearchParams(query as never)}`)).body;
  const readAll = (query: Record<string, string | number>): Promise<Hit[]> =>
    service.as(admin).rows(`/admin/search?${new URLSearchParams({ ...query, group: 'conversation' } as never)}`);
  /** The newest hit of each conversation and their number, counted by hand. */
  const byHand = (isHit: (message: Sent) => boolean) => {
    const newestFirst = sent.filter(isHit).toSorted((first, second) => second.created_at - first.created_at);
    return [...Map.groupBy(newestFirst, ({ conversation_id }) => conversation_id).values()].map((hits) => [
      hits[0]?.id,
      hits.length,
    ]);
  };
  const counted = async (query: Record<string, string | number>) =>
    (await readAll(query)).map(({ message_id, hit_count }) => [message_id, hit_count]);

  const service = useService(engine);
  before(async () => {
    // The messages of conversations are mixed in time, so that each page finds conversations of earlier pages again.
    sent = Array.from({ length: 300 }, (_, at) => {
      const conversation = conversations[(at * at) % 9] ?? assert.fail();
      const words = at % 3 === 0 ? 'kettle boils' : at % 5 === 0 ? 'boils the kettle' : 'teapot';
      return message(conversation, 1_000 + at, { query: words, answer: `**Answer** ${at}` });
    }) as Sent[];
    const talks = conversations.map((id) => ({ record: 'conversation', id, app_id: one.ids.app, user: 'ann' }));
    await service.load([...records, ...talks, ...sent]);
    await service.index();
  });

  it('200: one row for each conversation, its newest hit, with as many hits as counted by hand, on pages of any size', async () => {
    const expected = byHand(({ query }) => query.includes('kettle'));
    for (const limit of [1, 2, 50]) assert.deepEqual(await counted({ q: 'kettle', limit }), expected, `${limit}`);
    assert.deepEqual(
      await counted({ q: 'kett', from: 1_100, to: 1_200, limit: 2 }),
      byHand(({ query, created_at }) => query.includes('kettle') && created_at >= 1_100 && created_at < 1_200),
    );
    assert.deepEqual(
      await counted({ limit: 3 }),
      byHand(() => true),
    );
  });

  it('200: a phrase has its rows, and no count that the index cannot tell', async () => {
    const expected = byHand(({ query }) => query.startsWith('kettle'));
    assert.deepEqual(
      await counted({ q: '"kettle boils"', limit: 50 }),
      expected.map(([id]) => [id, null]),
    );
  });

  it('200: without words, the snippet is the beginning of the answer; the comment of the user is given', async () => {
    const disliked = message(conversations[0] ?? '', 2_000, {
      ...{ query: 'Why?', answer: 'Because **so**.', feedback: { rating: 'dislike' } },
      feedback_content: 'é'.repeat(limits.listedTextCharsMax + 1),
    });
    await service.load([disliked]);
    await service.index();
    const [row] = await readAll({ rating: 'dislike' });
    assert.deepEqual([row?.message_id, row?.snippet], [disliked.id, 'Because **so**.']);
    assert.equal(row?.feedback_content, 'é'.repeat(limits.listedTextCharsMax));
    assert.equal((await get({ q: 'why', rating: 'dislike' })).data[0]?.snippet, 'Why?');
  });

  it('400: passages of knowledge bases have no conversation', async () => {
    const path = '/admin/search?in=knowledge&q=a&group=conversation';
    assert.equal((await service.as(admin).get(path)).status, 400);
  });
});
