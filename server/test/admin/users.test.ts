import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { it } from 'node:test';
import { userColumns } from '../../src/contract/console/users.ts';
import { limits } from '../../src/contract/limits.ts';
import { purge } from '../../src/domain/erasure/purge.ts';
import { makeTwoTenants, message, onEveryEngine, useService } from '../support/harness.ts';

// biome-ignore lint/suspicious/noExplicitAny: rows of a list
type Row = any;

const long = 'l'.repeat(5_000);
/** Names that share their first 200 characters have some fixed order. */
const longNames = [`${long}2`, long];

onEveryEngine('users of all apps', (engine) => {
  const { one, other, admin, records } = makeTwoTenants();
  const conversation = (app_id: string, user: string | null, created_at: number) => ({
    ...{ record: 'conversation', id: randomUUID(), app_id, user, created_at },
  });
  const zoe = conversation(one.ids.app, 'zoe', 100);
  const zoeToo = conversation(other.ids.app, 'zoe', 90);
  const eve = conversation(one.ids.app, 'Eve_%', 200);
  const service = useService(engine, [
    ...records,
    ...[zoe, zoeToo, eve],
    conversation(one.ids.app, long, 300),
    conversation(one.ids.app, `${long}2`, 301),
    conversation(one.ids.app, null, 900),
    message(zoe.id, 400, { total_price: '0.5', currency: 'USD', feedback: { rating: 'dislike' } }),
    message(zoe.id, 401, { status: 'error', error: 'e' }),
    message(zoeToo.id, 50, { total_price: '0.25', currency: 'USD' }),
    message(eve.id, 500, { total_price: '1', currency: 'USD' }),
    message(eve.id, 500, { total_price: '1', currency: 'EUR' }),
  ]);

  const get = (query = '') => service.as(admin).get(`/admin/users${query}`);
  const walk = (query: string, limit: number): Promise<Row[]> =>
    service.as(admin).rows(`/admin/users?${query}&limit=${limit}`);
  const names = (rows: Row[]) => rows.map(({ user }) => user);

  it('200: totals over all apps, or in one', async () => {
    const common = { user: 'zoe', disliked: 1, failed: 1, currency: 'USD', last_at: 401 };
    assert.deepEqual((await get('?q=zoe')).body, {
      limit: 20,
      has_more: false,
      data: [
        {
          ...{ user: 'zoe', app_ids: [one.ids.app, other.ids.app].sort(), conversations: 2, messages: 3 },
          ...{ disliked: 1, failed: 1, total_price: 0.75, currency: 'USD', first_at: 90, last_at: 401 },
        },
      ],
      ...{ next_cursor: null, total: null },
    });
    const [inOne] = (await get(`?q=zoe&app_id=${one.ids.app.toUpperCase()}`)).body.data;
    const ofOne = { app_ids: [one.ids.app], conversations: 1, messages: 2, total_price: 0.5, first_at: 100 };
    assert.deepEqual(inOne, { ...common, ...ofOne });
    const [ofEve] = (await get('?q=eve')).body.data;
    assert.deepEqual([ofEve.total_price, ofEve.currency], [null, null]);
  });

  it('200: sorted by any column, in both directions, each user once whatever the limit', async () => {
    const { data: all, total } = (await get('?limit=100&sort=user')).body;
    assert.equal(total, all.length);
    const inOne = await walk(`app_id=${one.ids.app}`, 2);
    assert.equal((await get(`?app_id=${one.ids.app}&limit=1`)).body.total, inOne.length);
    assert.deepEqual(names(all), ['Eve_%', 'ann', ...longNames, 'zoe']);
    const value = (row: Row, column: string) => (column === 'app_ids' ? row.app_ids.length : (row[column] ?? 0));
    for (const column of userColumns) {
      const sorted = await walk(`sort=${column}`, 2);
      assert.deepEqual(names(sorted).sort(), names(all).sort(), column);
      assert.deepEqual(await walk(`sort=-${column}`, 3), sorted.toReversed(), column);
      if (column === 'user' || column === 'currency') continue;
      const values = sorted.map((row) => value(row, column));
      assert.deepEqual(
        values,
        values.toSorted((a, b) => a - b),
        column,
      );
    }
    assert.deepEqual(names((await get()).body.data), ['ann', 'Eve_%', 'zoe', `${long}2`, long]);
  });

  it('200: part of a name; A to Z in any case, other characters exactly', async () => {
    const expected = { zo: ['zoe'], E_: ['Eve_%'], eve: ['Eve_%'], '%': ['Eve_%'], llll: longNames, x: [] };
    for (const [q, users] of Object.entries(expected)) {
      assert.deepEqual(names(await walk(`sort=user&q=${encodeURIComponent(q)}`, 1)), users, q);
    }
  });

  it('200: follows ratings, renames, changed users and purges', async () => {
    const listed = async (user: string) => (await walk(`q=${user}`, 5))[0];
    const key = one.keys.app;
    const renamed = await service.as(key).post(`/v1/conversations/${eve.id}/name`, { name: 'n' });
    assert.equal((await listed('eve')).last_at, renamed.body.updated_at);
    await service.load([{ ...eve, user: 'mallory' }]);
    assert.equal(await listed('eve'), undefined);
    assert.equal((await listed('mallory')).messages, 2);
    await purge(service.store, { conversation_id: zoeToo.id }, { key_id: null, now: 1 });
    const { first_at, conversations, app_ids } = await listed('zoe');
    assert.deepEqual([first_at, conversations, app_ids], [100, 1, [one.ids.app]]);
    await purge(service.store, { app_id: one.ids.app, user: 'zoe' }, { key_id: null, now: 1 });
    assert.equal(await listed('zoe'), undefined);
  });

  it('200: the times of a user whose other conversation is erased before a change of this one is counted', async () => {
    const listed = async () => (await walk('q=nora', 5))[0];
    const [kept, erased] = [conversation(one.ids.app, 'nora', 100), conversation(one.ids.app, 'nora', 900)];
    await service.load([kept, erased]);
    assert.deepEqual([(await listed()).first_at, (await listed()).last_at], [100, 900]);
    await service.load([{ ...kept, hold: true }]);
    await purge(service.store, { conversation_id: erased.id }, { key_id: null, now: 1 });
    const { first_at, last_at, conversations } = await listed();
    assert.deepEqual([first_at, last_at, conversations], [100, 100, 1]);
  });

  it('200: a search through very many users continues with its cursor', async () => {
    // More than are counted together.
    const count = 2 * limits.countedTogetherMax + 1;
    const many = Array.from({ length: count }, (_, at) => conversation(one.ids.app, `user ${at}`, at));
    await service.load(many);
    const scanMax = limits.usersScanMax;
    Object.assign(limits, { usersScanMax: 7 });
    try {
      assert.deepEqual(names(await walk('q=user%203&sort=first_at', 3)), ['user 3', ...names(many.slice(30, 40))]);
      const { body } = await get('?q=none&limit=3');
      assert.deepEqual([body.data, body.has_more], [[], true]);
    } finally {
      Object.assign(limits, { usersScanMax: scanMax });
    }
  });

  it('400: a cursor of another order', async () => {
    const { next_cursor } = (await get('?sort=messages&limit=1')).body;
    assert.equal((await get(`?sort=failed&cursor=${next_cursor}`)).status, 400);
  });
});
