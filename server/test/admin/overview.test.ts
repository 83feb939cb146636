import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { it } from 'node:test';
import { purge } from '../../src/domain/erasure/purge.ts';
import { makeTwoTenants, message, onEveryEngine, pluck, useService } from '../support/harness.ts';

const day = 86_400;
const hour = 3_600;
const first = 20_000;

onEveryEngine('overview', (engine) => {
  const { one, other, admin, records } = makeTwoTenants();
  const conversation = (user: string | null, app_id = one.ids.app) => ({
    ...{ record: 'conversation', id: randomUUID(), app_id, user, created_at: 1 },
  });
  const [bob, withoutUser, otherBob] = [conversation('bob'), conversation(null), conversation('bob', other.ids.app)];
  const many = Array.from({ length: 25 }, (_, at) => conversation(`user ${at}`, other.ids.app));
  const priced = (total_price: string, currency = 'USD') => ({ total_price, currency, message_tokens: 5 });
  const service = useService(engine, [
    ...records,
    ...[bob, withoutUser, otherBob, ...many],
    message(one.ids.conversation, first * day, { ...priced('0.5'), feedback: { rating: 'dislike' } }),
    message(one.ids.conversation, first * day + 1, { ...priced('0.25', 'EUR'), status: 'error' }),
    message(bob.id, (first + 1) * day - 1, { feedback: { rating: 'like' } }),
    message(bob.id, (first + 2) * day - 1, priced('1')),
    message(bob.id, (first + 2) * day, priced('100')),
    message(otherBob.id, (first + 1) * day, { status: 'error', feedback: { rating: 'dislike' } }),
    message(withoutUser.id, (first + 1) * day),
    message(one.ids.conversation, first * day - 1, priced('8')),
    message(withoutUser.id, (first - 2) * day),
    message(withoutUser.id, (first - 2) * day - 1),
    ...many.map(({ id }) => message(id, (first + 100) * day)),
    message(many[24]?.id ?? '', (first + 100) * day),
  ]);
  const get = (query: string) => service.as(admin).get(`/admin/overview?${query}`);
  const none = { messages: 0, liked: 0, disliked: 0, failed: 0, tokens: 0 };

  it('200: totals of whole days and of the period before, by day, app, model and user', async () => {
    const { status, body, text } = await get(`from=${first * day + 5}&to=${(first + 1) * day + 5}`);
    assert.equal(status, 200, text);
    const prices = [
      { currency: 'EUR', price: 0.25 },
      { currency: 'USD', price: 1.5 },
    ];
    const ofOne = { messages: 5, liked: 1, disliked: 1, failed: 1, tokens: 15, prices };
    const usd = (price: number) => [{ currency: 'USD', price }];
    const before = { ...none, messages: 2, tokens: 5, prices: usd(8) };
    const points = [
      {
        at: first * day,
        ...none,
        messages: 2,
        disliked: 1,
        failed: 1,
        tokens: 10,
        prices: ofOne.prices.map((one) => ({ ...one, price: one.currency === 'EUR' ? 0.25 : 0.5 })),
      },
      { at: (first + 1) * day - hour, ...none, messages: 1, liked: 1, prices: [] },
      { at: (first + 1) * day, ...none, messages: 2, disliked: 1, failed: 1, prices: [] },
      { at: (first + 2) * day - hour, ...none, messages: 1, tokens: 5, prices: usd(1) },
    ];
    const ofOther = { ...none, messages: 1, disliked: 1, failed: 1, prices: [] };
    assert.deepEqual(body, {
      from: first * day,
      to: (first + 2) * day,
      totals: { messages: 6, liked: 1, disliked: 2, failed: 2, tokens: 15, prices, users: 2 },
      before: { ...none, messages: 2, tokens: 5, prices: [{ currency: 'USD', price: 8 }], users: 1 },
      step_seconds: hour,
      points: points.map((point) => ({ ...point, users: 1 })),
      points_before: [
        { at: first * day - 2 * day, ...none, messages: 1, prices: [] },
        { at: first * day - hour, ...none, messages: 1, tokens: 5, prices: [{ currency: 'USD', price: 8 }] },
      ],
      series: [points],
      so_far: null,
      apps: [
        { app_id: one.ids.app, app_name: 'app', ...ofOne, before },
        { app_id: other.ids.app, app_name: 'app', ...ofOther, before: { ...none, prices: [] } },
      ],
      models: [
        ...[
          {
            model_provider: null,
            model: null,
            messages: 6,
            liked: 1,
            disliked: 2,
            failed: 2,
            tokens: 15,
            prices,
            before,
          },
        ],
      ],
      users: [
        { user: 'bob', messages: 3, liked: 1, disliked: 1, failed: 1, tokens: 5, price: 1, currency: 'USD' },
        { user: 'ann', messages: 2, liked: 0, disliked: 1, failed: 1, tokens: 10, price: null, currency: null },
      ],
    });
  });

  it('200: the points of the five models or apps with the most messages, and of all others', async () => {
    const app = { record: 'app', id: randomUUID(), workspace_id: one.ids.workspace, name: 'models', mode: 'chat' };
    const own = conversation('dora', app.id);
    const start = (first + 50) * day;
    // Model n has n messages on each of three days; the first day is before the period of two days.
    const written = [1, 2, 3, 4, 5, 6, 7].flatMap((n) =>
      [0, 1, 2].flatMap((at) =>
        Array.from({ length: n }, () => message(own.id, start + at * day + n * hour, { model: `model ${n}` })),
      ),
    );
    await service.load([app, own, ...written]);
    const { body } = await get(`from=${start + day}&to=${start + 3 * day}&app_id=${app.id}`);
    const counts = (points: { at: number; messages: number }[]) => points.map(({ at, messages }) => [at, messages]);
    const at = (n: number) => [n * hour, day + n * hour].map((time) => [start + day + time, n]);
    const others = [1, 2].flatMap(at).sort(([a = 0], [b = 0]) => a - b);
    assert.deepEqual(body.series.map(counts), [...[7, 6, 5, 4, 3].map(at), others]);
    assert.deepEqual(
      body.models.map(({ model, before }: { model: string; before: { messages: number } }) => [model, before.messages]),
      [7, 6, 5, 4, 3, 2, 1].map((n) => [`model ${n}`, n]),
    );
    const { body: longer } = await get(`from=${start}&to=${start + 3 * day}&app_id=${app.id}&series=app`);
    assert.equal(longer.step_seconds, day);
    assert.deepEqual(longer.series.map(counts), [[0, 1, 2].map((n) => [start + n * day, 28])]);
    assert.equal((await get('series=user')).status, 400);
  });

  it('200: the complete hours of the running day, and the same hours of the day before', async () => {
    const midnight = (Math.floor(Date.now() / 1000 / day) - 1) * day;
    const own = conversation('emil');
    const times = [-13, -12, -1, 0, 11, 12].map((n) => midnight + n * hour);
    await service.load([own, ...times.map((time) => message(own.id, time, priced('1')))]);
    const soFar = async (seconds: number, query = '') => {
      service.freezeClock((midnight + seconds) * 1000);
      const { today, yesterday } = (await get(`app_id=${own.app_id}${query}`)).body.so_far ?? {};
      return today && [today.messages, today.prices[0]?.price, yesterday.messages];
    };
    assert.deepEqual(await soFar(12 * hour + 1800), [2, 2, 1]);
    assert.deepEqual(await soFar(11 * hour), [1, 1, 0]);
    assert.equal(await soFar(hour - 1), undefined, 'no hour is complete');
    assert.equal(await soFar(12 * hour, `&to=${midnight}`), undefined, 'it is not in the period');
    service.freezeClock();
    await purge(service.store, { conversation_id: own.id }, { key_id: null, now: 1 });
  });

  it('200: only one app', async () => {
    const { body } = await get(`from=${first * day}&to=${(first + 2) * day}&app_id=${other.ids.app.toUpperCase()}`);
    assert.deepEqual([body.totals.messages, body.totals.users, body.before.users, body.apps.length], [1, 1, 0, 1]);
    assert.deepEqual(body.users, [
      { ...none, user: 'bob', messages: 1, disliked: 1, failed: 1, price: null, currency: null },
    ]);
  });

  it('200: only one user, in all apps or one', async () => {
    const period = `from=${first * day}&to=${(first + 2) * day}&user=bob`;
    const { body } = await get(period);
    const counts = (points: { at: number; messages: number }[]) => points.map(({ at, messages }) => [at, messages]);
    assert.deepEqual([body.totals.messages, body.totals.users, body.before.messages], [3, 1, 0]);
    assert.deepEqual(counts(body.points), [
      [(first + 1) * day - hour, 1],
      [(first + 1) * day, 1],
      [(first + 2) * day - hour, 1],
    ]);
    assert.deepEqual(counts(body.series[0]), counts(body.points));
    assert.deepEqual(
      body.apps.map(({ app_id, messages }: { app_id: string; messages: number }) => [app_id, messages]),
      [
        [one.ids.app, 2],
        [other.ids.app, 1],
      ],
    );
    assert.equal((await get(`${period}&app_id=${other.ids.app}`)).body.totals.messages, 1);
    assert.equal((await get(`${period}%20`)).body.totals.messages, 0);
    assert.equal((await get('user=%00')).status, 400);
  });

  it('200: the 20 users with the most messages, then in the order of their names', async () => {
    const { body } = await get(`from=${(first + 100) * day}&to=${(first + 101) * day}`);
    assert.equal(body.totals.users, 25);
    assert.equal(body.users.length, 20);
    const names = many.map(({ user }) => user ?? '');
    const expected = ['user 24', ...names.slice(0, 24).sort()];
    assert.deepEqual(pluck(body.users, 'user'), expected.slice(0, 20));
  });

  it('200: the last 30 days without parameters; a period without messages is empty', async () => {
    const { body } = await get('');
    const today = Math.floor(Date.now() / 1000 / day);
    assert.deepEqual([body.from, body.to], [(today - 29) * day, (today + 1) * day]);
    assert.deepEqual(body.totals, { ...none, users: 0, prices: [] });
    assert.deepEqual([body.points, body.apps, body.users], [[], [], []]);
    assert.equal((await get(`from=${(today - 6) * day}`)).body.from, (today - 6) * day);
  });

  it('200: a message written again counts with its new values; deleted conversations count, purged ones do not', async () => {
    const at = (first + 200) * day;
    const own = conversation('carl');
    const repriced = message(own.id, at, { ...priced('0.25'), answer_tokens: 2 });
    // A price without a currency does not count.
    const unpriced = message(own.id, at + 1, { total_price: '9', message_tokens: 1 });
    const read = async () => {
      const { totals, points, apps } = (await get(`from=${at}&to=${at + day}`)).body;
      const rows = totals.messages === 0 ? [] : [{ ...totals, at }];
      assert.deepEqual(points, rows);
      assert.equal(apps.length, rows.length);
      return { messages: totals.messages, tokens: totals.tokens, prices: totals.prices, users: totals.users };
    };
    await service.load([own, repriced, unpriced]);
    const usd = (price: number) => [{ currency: 'USD', price }];
    assert.deepEqual(await read(), { messages: 2, tokens: 8, prices: usd(0.25), users: 1 });
    await service.load([{ ...repriced, ...priced('0.75'), answer: 'longer', answer_tokens: 10 }]);
    assert.deepEqual(await read(), { messages: 2, tokens: 16, prices: usd(0.75), users: 1 });
    await service.load([{ ...own, deleted: true }]);
    assert.deepEqual(await read(), { messages: 2, tokens: 16, prices: usd(0.75), users: 1 });
    await purge(service.store, { conversation_id: own.id }, { key_id: null, now: 1 });
    assert.deepEqual(await read(), { messages: 0, tokens: 0, prices: [], users: 0 });
  });
});
