import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { it } from 'node:test';
import { purge } from '../../src/domain/erasure/purge.ts';
import {
  itOnOneEngine,
  makeTenant,
  makeTwoTenants,
  message,
  onEveryEngine,
  pluck,
  useService,
} from '../support/harness.ts';

const idAt = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;

onEveryEngine('conversations of an app', (engine) => {
  const { one, other, admin, records } = makeTwoTenants();
  const completion = makeTenant('completion');
  const app_id = one.ids.app;
  const service = useService(engine, [...records, ...completion.records]);

  const conversation = (id: string, more: object = {}) => ({
    record: 'conversation',
    id,
    app_id,
    created_at: 10,
    ...more,
  });
  const get = (path: string, key = one.keys.app) => service.as(key).get(`/v1${path}`);
  const list = async (query: Record<string, string | number> = {}, key = one.keys.app) => {
    const search = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)]));
    return get(`/conversations?${search}`, key);
  };
  const post = (path: string, body: unknown, key = one.keys.app) => service.as(key).post(`/v1${path}`, body);
  const rename = (id: string, body: unknown, key = one.keys.app) => post(`/conversations/${id}/name`, body, key);
  const remove = (id: string, body?: unknown, key = one.keys.app) =>
    service.request('DELETE', `/v1/conversations/${id}`, { key, ...(body !== undefined && { body }) });
  const find = async (id: string, user: string) => {
    const { body } = await list({ user, limit: 100 });
    return body.data.find((item: { id: string }) => item.id === id);
  };
  const error = (code: string, message: string, status = 404) => ({ status, code, message });
  const missing = error('not_found', 'Conversation Not Exists.');

  it('200: lists id, name, inputs, status, introduction and times, in this order', async () => {
    const id = randomUUID();
    await service.load([conversation(id, { user: 'shape', introduction: 'Hi', name: 'N', inputs: { a: 1 } })]);
    const { status, text } = await list({ user: 'shape' });
    assert.equal(status, 200);
    const item = {
      id,
      name: 'N',
      inputs: { a: 1 },
      status: 'normal',
      introduction: 'Hi',
      created_at: 10,
      updated_at: 10,
    };
    assert.equal(text, JSON.stringify({ limit: 20, has_more: false, data: [item] }));
  });

  it('derives name and inputs from the first message, whichever way it was added', async () => {
    const [id, user] = [randomUUID(), 'derived'];
    const shown = async () => {
      const { name, inputs, updated_at } = await find(id, user);
      return [name, inputs, updated_at];
    };
    await service.load([conversation(id, { user })]);
    assert.deepEqual(await shown(), ['New conversation', {}, 10]);
    const second = message(id, 50, { query: 'x'.repeat(20), inputs: { n: 2 } });
    await service.load([second]);
    assert.deepEqual(await shown(), ['x'.repeat(20), { n: 2 }, 50]);
    const first = message(id, 40, { query: '😀'.repeat(21), inputs: { n: 1, b: null } });
    await service.load([first]);
    assert.deepEqual(await shown(), [`${'😀'.repeat(20)}…`, { n: 1, b: null }, 50]);
    await service.load([message(id, 40, { query: 'same second, but later' })]);
    assert.equal((await shown())[0], `${'😀'.repeat(20)}…`);
    await service.load([{ ...first, query: 'replaced' }]);
    assert.equal((await shown())[0], 'replaced');
    await service.load([{ ...first, query: 'moved', created_at: 90 }]);
    assert.deepEqual(await shown(), ['same second, but lat…', {}, 90]);
    await service.load([{ ...first, query: 'moved back', created_at: 5 }]);
    assert.deepEqual(await shown(), ['moved back', { n: 1, b: null }, 50]);
    await service.load([message(id, 4, { query: '' })]);
    assert.equal((await shown())[0], 'New conversation');
    await service.load([{ ...first, query: '', created_at: 3 }]);
    assert.equal((await shown())[0], 'New conversation');
    await service.load([conversation(id, { user, created_at: 70 })]);
    assert.equal((await shown())[2], 70);
    await service.load([conversation(id, { user, created_at: 1, renamed_at: 65 })]);
    assert.equal((await shown())[2], 65);
    await service.load([conversation(id, { user, created_at: 1, renamed_at: null })]);
    assert.equal((await shown())[2], 50);
  });

  it('sorts in four orders, with ids as tie-break, and scrolls through all of them', async () => {
    const user = 'sorted';
    const all = Array.from({ length: 7 }, (_, n) => ({ id: idAt(n), created_at: 100 + (n % 2), last: 200 + (n % 3) }));
    await service.load(
      all.flatMap(({ id, created_at, last }) => [conversation(id, { user, created_at }), message(id, last)]),
    );
    await service.load([conversation(idAt(8), { user, deleted: true })]);
    for (const sort_by of ['created_at', '-created_at', 'updated_at', '-updated_at']) {
      const isDescending = sort_by.startsWith('-');
      const value = (row: (typeof all)[0]) => (sort_by.endsWith('created_at') ? row.created_at : row.last);
      const sorted = all.toSorted((a, b) => value(a) - value(b) || (a.id < b.id ? -1 : 1)).map(({ id }) => id);
      if (isDescending) sorted.reverse();
      const seen: string[] = [];
      for (let last_id: string | undefined; ; ) {
        const { body } = await list({ user, limit: 2, sort_by, ...(last_id && { last_id }) });
        assert.equal(body.has_more, seen.length + body.data.length < all.length);
        seen.push(...body.data.map(({ id }: { id: string }) => id));
        if (!body.has_more) break;
        last_id = seen.at(-1)?.toUpperCase();
      }
      assert.deepEqual(seen, sorted, sort_by);
    }
    const first = (await list({ user, limit: 2 })).body.data;
    const aliased = await list({ user, limit: 2, first_id: first[1].id });
    assert.deepEqual(aliased.body.data, (await list({ user, limit: 2, last_id: first[1].id })).body.data);
  });

  it('200: the link to the next page holds the position of the last conversation, which may move or be deleted', async () => {
    const user = 'linked';
    const ids = [5, 4, 3, 2, 1].map((n) => idAt(100 + n));
    await service.load(ids.map((id, at) => conversation(id, { user, created_at: 100 - at })));
    const idsOf = ({ body }: Awaited<ReturnType<typeof list>>) => body.data.map(({ id }: { id: string }) => id);
    const follow = ({ headers }: Awaited<ReturnType<typeof list>>) =>
      service.as(one.keys.app).get(/^<(.*)>; rel="next"$/.exec(String(headers.link))?.[1] ?? '');
    const first = await list({ user, limit: 2, last_id: '' });
    assert.deepEqual(idsOf(first), ids.slice(0, 2));
    await service.load([message(ids[1] ?? '', 200)]);
    const second = await follow(first);
    assert.deepEqual(idsOf(second), ids.slice(2, 4));
    assert.equal((await remove(ids[3] ?? '')).status, 204);
    const third = await follow(second);
    assert.deepEqual([idsOf(third), third.body.has_more, third.headers.link], [ids.slice(4), false, undefined]);
    const byId = await list({ user, limit: 1, last_id: ids[1] as string });
    assert.deepEqual(idsOf(byId), [ids[0]]);
    assert.match(String(byId.headers.link), /^<\/v1\/conversations\?user=linked&limit=1&cursor=[\w-]+>; rel="next"$/);
    const cursor = /cursor=([\w-]+)/.exec(String(byId.headers.link))?.[1] ?? '';
    assert.deepEqual(idsOf(await list({ user, cursor, last_id: randomUUID() })), [ids[2], ids[4]]);
    assert.deepEqual(idsOf(await list({ user: 'another', cursor })), []);
    assert.deepEqual(idsOf(await list({ cursor, limit: 100 }, other.keys.app)).includes(ids[2]), false);
    const encoded = (key: unknown) => Buffer.from(JSON.stringify(key)).toString('base64url');
    const invalid = ['x', `${cursor}x`, encoded([100, idAt(1)]), encoded(['-updated_at', 1.5, 'x'])];
    for (const one of [...invalid, encoded(['-updated_at', 1, 'a\0'])])
      assert.equal((await list({ user, cursor: one })).body.code, 'invalid_param', one);
    assert.equal((await list({ user, cursor, sort_by: 'updated_at' })).body.code, 'invalid_param');
  });

  it('404: last_id is not in the list', async () => {
    const [own, deleted] = [randomUUID(), randomUUID()];
    await service.load([conversation(own, { user: 'last' }), conversation(deleted, { user: 'last', deleted: true })]);
    const expected = error('not_found', 'Last Conversation Not Exists.');
    for (const last_id of [deleted, randomUUID(), 'x', other.ids.conversation, 'a\0'])
      assert.deepEqual((await list({ user: 'last', last_id })).body, expected, last_id);
    assert.deepEqual((await list({ user: 'another', last_id: own })).body, expected);
    assert.deepEqual((await list({ user: 'a\0', last_id: own })).body, expected);
    await service.load([conversation(randomUUID(), { user: '' })]);
    assert.deepEqual((await list({ user: 'a\0' })).body.data, []);
  });

  it('lists only conversations of the key’s app', async () => {
    const { body } = await list({ limit: 100 }, other.keys.app);
    assert.deepEqual(pluck(body.data, 'id'), [other.ids.conversation]);
  });

  it('200: renames, and derives the name again', async () => {
    const [id, user] = [randomUUID(), 'renamer'];
    await service.load([conversation(id, { user }), message(id, 20, { query: 'A first query of many words' })]);
    const before = await get(`/messages?conversation_id=${id}`);
    const renamed = await rename(id.toUpperCase(), { name: ' New name ', user });
    assert.equal(renamed.status, 200, renamed.text);
    assert.equal(renamed.body.name, ' New name ');
    assert.ok(renamed.body.updated_at > 1_000_000);
    assert.deepEqual(await find(id, user), renamed.body);
    assert.notEqual((await get(`/messages?conversation_id=${id}`)).headers.etag, before.headers.etag);
    const derived = await rename(id, { auto_generate: true, name: 'ignored' });
    assert.equal(derived.body.name, 'A first query of man…');
    const {
      entries: [entry],
    } = await service.store.listAudit({
      key_id: one.keyIds.app,
      record_id: id,
      limit: 1,
    });
    assert.deepEqual([entry?.action, entry?.record, entry?.ids], ['update', 'conversation', [id]]);
    for (const body of [
      {},
      { name: '' },
      { name: ' \n' },
      { name: null },
      { name: 'x'.repeat(256) },
      { name: 1 },
      [],
      { name: 'a\0' },
    ]) {
      const response = await rename(id, body);
      assert.equal(response.body.code, 'invalid_param', JSON.stringify(body));
    }
    assert.equal((await rename(id, { name: 'x'.repeat(255) })).status, 200);
    for (const response of [
      await rename(id, { name: 'x', user: 'another' }),
      await rename(randomUUID(), { name: 'x' }),
      await rename('x', { name: 'x' }),
      await rename(id, { name: 'x' }, other.keys.app),
    ])
      assert.deepEqual(response.body, missing);
    assert.equal((await service.as(one.keys.app).post(`/v1/conversations/${id}/name`)).status, 415);
  });

  it('200: a rename never sets updated_at back, even if the clock was', async () => {
    const [id, user] = [randomUUID(), 'clock'];
    await service.load([conversation(id, { user })]);
    const times: number[] = [];
    for (const seconds of [2_000_000_000, 1_900_000_000, 2_000_000_001]) {
      service.freezeClock(seconds * 1000);
      times.push((await rename(id, { name: `at ${seconds}`, user })).body.updated_at);
    }
    service.freezeClock(1_900_000_000_000);
    await service.load([message(id, 20)]);
    times.push((await find(id, user)).updated_at);
    assert.deepEqual(times, [2_000_000_000, 2_000_000_000, 2_000_000_001, 2_000_000_001]);
    service.freezeClock();
  });

  itOnOneEngine(engine, '204: a chunked body of a DELETE may be empty, and then needs no content type', async () => {
    const id = randomUUID();
    await service.load([conversation(id)]);
    const send = (options: object) =>
      service.request('DELETE', `/v1/conversations/${id}`, { key: one.keys.app, ...options });
    assert.equal((await send({ body: '{}' })).status, 415);
    assert.equal((await send({ headers: { 'transfer-encoding': 'chunked' } })).status, 204);
  });

  it('204: deletes once; purge still erases', async () => {
    const [id, user] = [randomUUID(), 'deleter'];
    await service.load([conversation(id, { user }), message(id, 20)]);
    assert.deepEqual((await remove(id, { user: 'another' })).body, missing);
    assert.equal((await remove(id, '{')).status, 415);
    const json = { 'content-type': 'application/json' };
    const path = `/v1/conversations/${id}`;
    const invalid = await service.as(one.keys.app).delete(path, '{', json);
    assert.equal(invalid.body.code, 'bad_request');
    assert.equal((await remove(id, { user: 1 })).body.code, 'invalid_param');
    const deleted = await remove(id, { user });
    assert.deepEqual([deleted.status, deleted.text], [204, '']);
    assert.deepEqual((await remove(id)).body, missing);
    assert.equal(await find(id, user), undefined);
    assert.equal((await get(`/messages?conversation_id=${id}`)).body.message, 'conversation not exists');
    const {
      entries: [entry],
    } = await service.store.listAudit({
      key_id: undefined,
      record_id: id,
      limit: 1,
    });
    assert.deepEqual([entry?.action, entry?.record, entry?.key_id], ['delete', 'conversation', one.keyIds.app]);
    assert.equal((await purge(service.store, { conversation_id: id }, { key_id: null, now: 1 })).messages, 1);
    const withoutBody = randomUUID();
    await service.load([conversation(withoutBody)]);
    assert.equal((await remove(withoutBody)).status, 204);
  });

  it('200: feedback is shown at once, kept by appends, and can be removed', async () => {
    const [id, user] = [randomUUID(), 'rater'];
    const rated = message(id, 20);
    await service.load([conversation(id, { user }), rated]);
    const rate = (body: unknown, key = one.keys.app) => post(`/messages/${rated.id}/feedbacks`, body, key);
    const page = () => get(`/messages?conversation_id=${id}`);
    const before = await page();
    const done = await rate({ rating: 'like', content: 'Thanks', user });
    assert.deepEqual([done.status, done.body], [200, { result: 'success' }]);
    const after = await page();
    assert.deepEqual(after.body.data[0], { ...before.body.data[0], feedback: { rating: 'like' } });
    assert.notEqual(after.headers.etag, before.headers.etag);
    const {
      entries: [entry],
    } = await service.store.listAudit({
      key_id: undefined,
      record_id: rated.id,
      limit: 1,
    });
    assert.deepEqual([entry?.action, entry?.record, entry?.ids], ['update', 'message', [`${id}/${rated.id}`]]);
    await service.load([conversation(id), rated]);
    assert.deepEqual((await page()).body.data[0].feedback, { rating: 'like' });
    assert.equal((await rate({ rating: null, user })).status, 200);
    assert.equal((await page()).body.data[0].feedback, null);
    const removed = await page();
    const again = await rate({ rating: null, user });
    assert.deepEqual([again.status, again.body.code], [400, 'invalid_param']);
    assert.equal((await page()).headers.etag, removed.headers.etag);
    for (const body of [
      { rating: 'like' },
      { rating: 'like', user: '' },
      { user },
      { rating: 'good', user },
      { rating: 'like', user, content: 'x'.repeat(10_001) },
    ])
      assert.equal((await rate(body)).body.code, 'invalid_param', JSON.stringify(body));
    const notThere = error('not_found', 'Message Not Exists.');
    assert.deepEqual((await rate({ rating: 'like', user: 'another' })).body, notThere);
    assert.deepEqual((await rate({ rating: 'like', user }, other.keys.app)).body, notThere);
    assert.deepEqual((await post('/messages/x/feedbacks', { rating: 'like', user })).body, notThere);
    await remove(id);
    assert.deepEqual((await rate({ rating: 'like', user })).body, notThere);
  });

  it('finds a message by its id alone, unless two conversations have it', async () => {
    const [owned, anyone, others] = [randomUUID(), randomUUID(), randomUUID()];
    const shared = message(owned, 20);
    const rate = (user: string) => post(`/messages/${shared.id}/feedbacks`, { rating: 'dislike', user });
    await service.load([conversation(owned, { user: 'o1' }), shared]);
    await service.load([conversation(others, { user: 'o2' }), { ...shared, conversation_id: others }]);
    assert.equal((await rate('o1')).status, 200);
    assert.equal((await rate('o3')).status, 404);
    await service.load([conversation(anyone), { ...shared, conversation_id: anyone }]);
    assert.equal((await rate('o3')).status, 200);
    assert.equal((await rate('o1')).status, 404);
  });

  it('feedback works for apps of any mode', async () => {
    const rated = message(completion.ids.conversation, 20);
    await service.load([rated]);
    const { status } = await post(
      `/messages/${rated.id}/feedbacks`,
      { rating: 'like', user: 'ann' },
      completion.keys.app,
    );
    assert.equal(status, 200);
  });

  it('200: describes the app, with defaults and without unknown parameters', async () => {
    const parameters = (await get('/parameters', completion.keys.app)).body;
    assert.deepEqual(parameters.retriever_resource, { enabled: true });
    assert.equal(Object.keys(parameters).length, 12);
    const app = { record: 'app', id: app_id, workspace_id: one.ids.workspace, name: 'Desk', mode: 'chat' };
    const own = { opening_statement: 'Hello', speech_to_text: { enabled: true }, unknown: 1 };
    await service.load([{ ...app, description: 'Helps', parameters: own, site: { title: 'T', extra: [1] } }]);
    assert.deepEqual((await get('/info')).body, {
      name: 'Desk',
      description: 'Helps',
      tags: [],
      mode: 'chat',
      author_name: null,
    });
    const changed = (await get('/parameters?user=ann')).body;
    const { unknown: _, ...known } = own;
    assert.deepEqual(changed, { ...parameters, ...known });
    assert.deepEqual((await get('/meta')).body, { tool_icons: {} });
    const site = (await get('/site')).body;
    assert.deepEqual([site.title, site.description, site.default_language, site.extra], ['T', 'Helps', 'en-US', [1]]);
    await service.load([app]);
    assert.equal((await get('/site')).body.title, 'Desk');
    assert.deepEqual((await get('/parameters')).body, parameters);
  });

  itOnOneEngine(engine, '403: a read-only key allows reads only', async () => {
    const id = randomUUID();
    await service.load([conversation(id)]);
    const patchKey = (key_id: string, read_only: unknown) =>
      service.as(admin).patch(`/admin/keys/${key_id}`, { read_only });
    const changed = await patchKey(one.keyIds.app, true);
    assert.deepEqual([changed.status, changed.body.read_only], [200, true]);
    assert.equal((await list()).status, 200);
    for (const response of [await rename('x', '{'), await remove(id), await post('/messages/x/feedbacks', {})]) {
      assert.deepEqual(response.body, error('forbidden', 'this key is read-only', 403));
    }
    assert.equal((await patchKey(one.keyIds.app, false)).body.read_only, false);
    assert.equal((await remove(id)).status, 204);
    assert.equal((await patchKey(one.keyIds.knowledge, true)).status, 200);
    const edit = { key: one.keys.knowledge, body: { content: 'text' } };
    assert.equal((await service.request('PATCH', one.chunkPath, edit)).status, 403);
    assert.equal((await service.request('GET', one.chunkPath, edit)).status, 200);
    assert.equal((await patchKey(one.keyIds.writer, true)).body.code, 'invalid_param');
    assert.equal((await patchKey(randomUUID(), true)).status, 404);
    assert.equal((await patchKey(one.keyIds.app, 1)).status, 400);
  });

  it('streams a list that is too large for memory', async () => {
    const user = 'large';
    const ids = Array.from({ length: 5 }, () => randomUUID());
    const inputs = { text: '"ü'.repeat(300_000) };
    await service.load(ids.map((id, n) => conversation(id, { user, created_at: n, inputs })));
    const { status, headers, text, body } = await list({ user, limit: 4, sort_by: 'created_at' });
    assert.equal(status, 200);
    assert.ok(Buffer.byteLength(text) > 4_194_304);
    assert.equal(body.has_more, true);
    assert.deepEqual(pluck(body.data, 'id'), ids.slice(0, 4));
    assert.ok(body.data.every((item: { inputs: object }) => JSON.stringify(item.inputs) === JSON.stringify(inputs)));
    const cursor = /[?&]cursor=([\w-]+)>; rel="next"$/.exec(String(headers.link))?.[1] ?? '';
    const next = await list({ user, sort_by: 'created_at', cursor });
    assert.deepEqual([next.body.data.length, next.body.data[0].id], [1, ids[4]]);
    const page = await list({ user, limit: 1 });
    assert.deepEqual(page.body.data[0].inputs, inputs);
    const head = await service.request('HEAD', `/v1/conversations?user=${user}&limit=4`, { key: one.keys.app });
    assert.equal(head.status, 200);
  });
});
