import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { before, it } from 'node:test';
import { makeTwoTenants, message, onEveryEngine, useService } from '../support/harness.ts';

// biome-ignore lint/suspicious/noExplicitAny: rows of a list
type Row = any;

onEveryEngine('feedback, search and times for app keys', (engine) => {
  const { one, other, admin, records } = makeTwoTenants();
  const conversation = (app_id: string, user: string, created_at: number, more = {}) => ({
    ...{ record: 'conversation', id: randomUUID(), app_id, user, created_at, ...more },
  });
  const first = conversation(one.ids.app, 'zoe', 100);
  const second = conversation(one.ids.app, 'zoe', 200);
  const others = [
    conversation(one.ids.app, 'eve', 100),
    conversation(other.ids.app, 'zoe', 100),
    conversation(one.ids.app, 'zoe', 100, { deleted: true }),
  ];
  const liked = { rating: 'like' };
  const rated = message(first.id, 1_000, { answer: 'A heron stood here.', feedback: liked, feedback_content: 'Yes' });
  const ratedLater = message(second.id, 900, {
    query: 'Which heron?',
    feedback: { rating: 'dislike' },
    rated_at: 2_000,
  });
  /** In one second, more than fit on a page. */
  const many = Array.from({ length: 7 }, (_, at) => message(second.id, 3_000, { answer: `Heron number ${at}` }));
  const service = useService(engine, [
    ...records,
    ...[first, second, ...others, rated, ratedLater, ...many],
    ...others.map(({ id }) => message(id, 5_000, { answer: 'Another heron', feedback: liked })),
  ]);
  before(async () => {
    await service.index();
  });
  const get = (path: string, key = one.keys.app) => service.as(key).get(path);

  it('200: messages with the same id, of two conversations, are on one page each', async () => {
    const [oneCopy, otherCopy] = [conversation(other.ids.app, 'sam', 1), conversation(other.ids.app, 'sam', 1)];
    const copied = message(oneCopy.id, 9_000, { feedback: liked });
    const copies = [copied, { ...copied, conversation_id: otherCopy.id }];
    await service.load([oneCopy, otherCopy, ...copies]);
    const page = async (number: number) =>
      (await get(`/v1/app/feedbacks?limit=1&page=${number}`, other.keys.app)).body.data[0].conversation_id;
    const [firstPage, secondPage] = [await page(1), await page(2)];
    // Stored again, at the end of its table.
    for (const copy of copies) {
      await service.load([copy]);
      assert.deepEqual([await page(1), await page(2)], [firstPage, secondPage]);
    }
    await service.store.erasure.erase(
      { app_id: other.ids.app, user: 'sam' },
      { action: 'purge', key_id: null, now: 1 },
    );
  });

  it('200: the feedback of the app, newest first; an imported one has the time of its message', async () => {
    const { status, body, text } = await get('/v1/app/feedbacks');
    assert.equal(status, 200, text);
    assert.deepEqual(
      body.data.map(({ from_end_user_id, rating }: Row) => [from_end_user_id, rating]),
      [
        ['eve', 'like'],
        ['zoe', 'dislike'],
        ['zoe', 'like'],
      ],
    );
    const { id, ...entry } = body.data[2];
    assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/);
    const time = '1970-01-01T00:16:40Z';
    assert.deepEqual(entry, {
      ...{ app_id: one.ids.app, conversation_id: first.id, message_id: rated.id, rating: 'like', content: 'Yes' },
      ...{ from_source: 'user', from_end_user_id: 'zoe', from_account_id: null, created_at: time, updated_at: time },
    });
    const pages = await Promise.all([1, 2, 3].map((page) => get(`/v1/app/feedbacks?page=${page}&limit=2`)));
    assert.deepEqual(
      pages.flatMap((page) => page.body.data),
      body.data,
    );
    for (const query of ['limit=102', 'limit=0', 'page=0']) {
      assert.equal((await get(`/v1/app/feedbacks?${query}`)).status, 400);
    }
    assert.equal((await get('/v1/app/feedbacks?limit=101')).status, 200);
  });

  it('200: a time that the format cannot show is the nearest one that it can', async () => {
    const far = conversation(other.ids.app, 'far', 1);
    const times = [9_007_199_254_740_991, 253_402_300_800, 253_402_300_799, -62_167_219_201, -9_007_199_254_740_991];
    await service.load([far, ...times.map((created_at) => message(far.id, created_at, { feedback: liked }))]);
    const { body } = await get('/v1/app/feedbacks', other.keys.app);
    const [last, first] = ['9999-12-31T23:59:59Z', '0000-01-01T00:00:00Z'];
    assert.deepEqual(
      body.data.filter((row: Row) => row.conversation_id === far.id).map((row: Row) => row.created_at),
      [last, last, last, first, first],
    );
    await service.store.erasure.erase(
      { app_id: other.ids.app, user: 'far' },
      { action: 'purge', key_id: null, now: 1 },
    );
  });

  it('200: the list follows ratings, records and deletions', async () => {
    const [target] = many;
    const ids = async () => (await get('/v1/app/feedbacks')).body.data.map((row: Row) => row.message_id);
    const rate = (rating: string | null) =>
      service.as(one.keys.app).post(`/v1/messages/${target?.id}/feedbacks`, { rating, user: 'zoe' });
    assert.equal((await rate('like')).status, 200);
    assert.equal((await ids())[0], target?.id);
    // Without the feedback, a record keeps it.
    await service.load([target ?? {}]);
    assert.equal((await ids())[0], target?.id);
    assert.equal((await rate(null)).status, 200);
    assert.ok(!(await ids()).includes(target?.id));
    await service.load([{ ...rated, feedback: null }]);
    assert.ok(!(await ids()).includes(rated.id));
    await service.load([rated]);
    await service.load([{ ...rated, feedback: liked, feedback_content: 'Yes' }]);
    assert.ok((await ids()).includes(rated.id));
  });

  it('200: conversations by their time of creation, in every order', async () => {
    for (const order of ['created_at', '-created_at', 'updated_at', '-updated_at']) {
      const list = async (query: string) =>
        (await get(`/v1/conversations?user=zoe&sort_by=${order}&${query}`)).body.data.map(({ id }: Row) => id);
      assert.deepEqual(await list('created_after=200'), [second.id], order);
      assert.deepEqual(await list('created_after=100&created_before=200'), [first.id], order);
      assert.deepEqual(await list('created_before=100'), [], order);
    }
    const path = `/v1/conversations?user=zoe&created_before=200&last_id=${second.id}`;
    assert.equal((await get(path)).status, 404);
    assert.equal((await get('/v1/conversations?created_after=x')).status, 400);
  });

  it('200: a user finds their own messages, in parts that match, each once whatever the limit', async () => {
    await service.index();
    const search = (query: string, key?: string) => get(`/v1/messages/search?user=zoe&${query}`, key);
    const { status, body, text } = await search('query=heron&limit=100');
    assert.equal(status, 200, text);
    assert.deepEqual([body.limit, body.has_more, body.cursor], [100, false, null]);
    assert.equal(body.data.length, 9);
    assert.deepEqual(body.data.at(-1), {
      ...{ message_id: ratedLater.id, conversation_id: second.id, created_at: 900, field: 'query' },
      snippet: [
        { text: 'Which ', hit: false },
        { text: 'heron', hit: true },
        { text: '?', hit: false },
      ],
    });
    assert.equal(body.data.at(-2).field, 'answer');
    for (const limit of [1, 2, 3, 8, 9]) {
      const rows: Row[] = [];
      for (let cursor = ''; ; ) {
        const page = (await search(`query=heron&limit=${limit}${cursor}`)).body;
        rows.push(...page.data);
        if (!page.has_more) break;
        cursor = `&cursor=${page.cursor}`;
      }
      assert.deepEqual(rows, body.data, String(limit));
    }
    assert.equal((await search('limit=100')).body.data.length, 9);
    assert.deepEqual((await search('query=another')).body.data, []);
    assert.equal((await search('query=heron', other.keys.app)).body.data.length, 1);
    assert.deepEqual((await get('/v1/messages/search?user=nobody&query=heron')).body.data, []);
    for (const query of ['query=heron', 'user=', 'user=zoe&cursor=x', 'user=zoe&limit=101', 'user=%00']) {
      assert.equal((await get(`/v1/messages/search?${query}`)).status, 400, query);
    }
  });

  it('200: the search of the console by model', async () => {
    const answered = message(first.id, 4_000, {
      answer: 'By a model',
      model_provider: 'harbour/lantern',
      model: 'lantern-2',
    });
    await service.load([answered]);
    await service.index();
    const find = async (query: string) => {
      const { body } = await service.as(admin).get(`/admin/search?${query}`);
      return body.data.map(({ message_id }: Row) => message_id);
    };
    assert.deepEqual(await find('model=lantern-2'), [answered.id]);
    assert.deepEqual(await find('model_provider=harbour/lantern&q=model'), [answered.id]);
    assert.deepEqual(await find('model=lantern'), []);
    await service.load([{ ...answered, model: 'lantern' }]);
    await service.index();
    assert.deepEqual(await find('model=lantern'), [answered.id]);
  });
});
