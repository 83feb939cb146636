import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { it } from 'node:test';
import { makeTwoTenants, message, onEveryEngine, useService } from '../support/harness.ts';

// biome-ignore lint/suspicious/noExplicitAny: rows of a list
type Row = any;

onEveryEngine('conversations of all apps', (engine) => {
  const { one, other, admin, records } = makeTwoTenants();
  const path = '/admin/conversations';
  /** Ids in a known order. */
  const idAt = (at: number): string => `00000000-0000-4000-8000-${String(at).padStart(12, '0')}`;
  const conversation = (at: number, app_id: string, more = {}) => ({
    ...{ record: 'conversation', id: idAt(at), app_id, user: 'ann', created_at: 5_000, ...more },
  });
  const rated = message(idAt(1), 6_000, { answer: 'First 😀', total_price: '0.25', currency: 'USD' });
  const service = useService(engine, [
    ...records,
    conversation(1, one.ids.app, { name: 'Named', user: null }),
    conversation(2, other.ids.app),
    conversation(3, one.ids.app),
    conversation(4, one.ids.app, { deleted: true }),
    conversation(5, other.ids.app),
    rated,
    message(idAt(1), 6_000, {
      query: 'Why? '.repeat(100),
      answer: '',
      status: 'error',
      error: 'no',
      total_price: '1',
      currency: 'USD',
    }),
    message(idAt(1), 5_500, { feedback: { rating: 'dislike' } }),
    message(idAt(2), 6_000, { total_price: '1', currency: 'USD' }),
    message(idAt(2), 6_000, { total_price: '1', currency: 'EUR', answer: 'newest' }),
    message(idAt(3), 9_000, { answer: 'large'.repeat(20_000) }),
    message(idAt(4), 9_999),
  ]);

  const get = (query = '') => service.as(admin).get(`${path}${query}`);
  const numbers = (rows: Row[]) => rows.map(({ id }) => Number(id.slice(-12))).filter((at) => at < 10);

  it('200: latest update first, then by id, descending; each once, whatever the limit', async () => {
    for (const limit of [1, 2, 3, 100]) {
      const rows: Row[] = await service.as(admin).rows(`${path}?limit=${limit}`);
      assert.deepEqual(
        rows.map(({ id }) => id),
        [...[3, 2, 1, 5].map(idAt), ...[one.ids.conversation, other.ids.conversation].sort().reverse()],
        String(limit),
      );
    }
  });

  it('200: has the app, counts of messages, the price and the newest text', async () => {
    const { body } = await get('?limit=4');
    const common = { app_name: 'app', created_at: 5_000, disliked_count: 0, failed_count: 0 };
    const noPrice = { price: null, currency: null };
    const times = (at: number) => ({ updated_at: at, last_message_at: at });
    const ofOne = { ...common, app_id: one.ids.app };
    const ofOther = { ...common, app_id: other.ids.app, user: 'ann' };
    assert.deepEqual(body.data, [
      { ...ofOne, id: idAt(3), user: 'ann', name: 'q', ...times(9_000), message_count: 1, ...noPrice, last_text: '' },
      { ...ofOther, id: idAt(2), name: 'q', ...times(6_000), message_count: 2, ...noPrice, last_text: 'newest' },
      {
        ...ofOne,
        ...{ id: idAt(1), user: null, name: 'Named', ...times(6_000), message_count: 3 },
        ...{ disliked_count: 1, failed_count: 1, price: 1.25, currency: 'USD' },
        last_text: 'Why? '.repeat(100).slice(0, 200),
      },
      {
        ...ofOther,
        ...{ id: idAt(5), name: 'New conversation', updated_at: 5_000, last_message_at: null, message_count: 0 },
        ...{ ...noPrice, last_text: '' },
      },
    ]);
  });

  it('200: only an app, or only the listed ids', async () => {
    assert.deepEqual(numbers((await get(`?app_id=${other.ids.app.toUpperCase()}`)).body.data), [2, 5]);
    const ids = [idAt(5), idAt(3), idAt(4), idAt(3), randomUUID(), 'x', '%00', idAt(1).toUpperCase()];
    const { status, body } = await get(`?${ids.map((id) => `id=${id}`).join('&')}&limit=1`);
    assert.equal(status, 200);
    assert.deepEqual(numbers(body.data), [3, 1, 5]);
    assert.deepEqual([body.has_more, body.next_cursor], [false, null]);
    const many = Array.from({ length: 101 }, () => `id=${idAt(1)}`);
    assert.equal((await get(`?${many.slice(1).join('&')}`)).body.data.length, 1);
    assert.equal((await get(`?${many.join('&')}`)).status, 400);
    assert.equal((await get(`?app_id=${randomUUID()}`)).status, 404);
    assert.equal((await get('?cursor=x')).status, 400);
    assert.equal((await service.as(one.keys.app).get(path)).status, 401);
  });

  it('200: only a user, in one app or all, and only those whose last activity is in a period', async () => {
    const expected: Record<string, number[]> = {
      'user=ann': [3, 2, 5],
      [`user=ann&app_id=${other.ids.app}`]: [2, 5],
      'user=ANN': [],
      'user=an': [],
      'from=6000': [3, 2, 1],
      'from=6001': [3],
      'from=5000&to=6000': [5],
      'user=ann&to=9000': [2, 5],
      [`user=ann&app_id=${one.ids.app}&from=9000&to=9001`]: [3],
      [`user=ann&id=${idAt(1)}&id=${idAt(2)}`]: [2],
      [`to=6000&id=${idAt(1)}&id=${idAt(5)}`]: [5],
    };
    for (const [query, ids] of Object.entries(expected)) {
      const { status, body, text } = await get(`?${query}&limit=100`);
      assert.equal(status, 200, text);
      assert.deepEqual(numbers(body.data), ids, query);
      assert.equal(body.has_more, false, query);
    }
    const rows: Row[] = await service.as(admin).rows(`${path}?user=ann&from=5000&limit=1`);
    assert.deepEqual(numbers(rows), [3, 2, 5]);
    for (const query of ['user=%00', 'from=x', 'to=1.5', 'user=a&user=b'])
      assert.equal((await get(`?${query}`)).status, 400);
  });

  it('200: a rating changes the count of disliked messages', async () => {
    const countOf = async () => (await get(`?id=${idAt(1)}`)).body.data[0].disliked_count;
    const rate = async (rating: string | null, expected: number) => {
      const body = { rating, user: 'ann' };
      const url = `/v1/messages/${rated.id}/feedbacks`;
      const { status, text } = await service.as(one.keys.app).post(url, body);
      assert.equal(status, 200, text);
      assert.equal(await countOf(), expected, String(rating));
    };
    await rate('dislike', 2);
    await rate('dislike', 2);
    // A record that omits the feedback keeps it.
    await service.load([rated]);
    assert.equal(await countOf(), 2);
    await rate('like', 1);
    await rate('dislike', 2);
    await rate(null, 1);
    await service.load([{ ...rated, feedback: { rating: 'dislike' } }]);
    assert.equal(await countOf(), 2);
  });
});
