import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { it } from 'node:test';
import { makeTenant, makeTwoTenants, message, onEveryEngine, useService } from '../support/harness.ts';

// biome-ignore lint/suspicious/noExplicitAny: rows of a list
type Row = any;

/** Ids in a known order. */
const idAt = (at: number): string => `00000000-0000-4000-8000-${String(at).padStart(12, '0')}`;

onEveryEngine('conversations of an app', (engine) => {
  const { one, other, admin, records } = makeTwoTenants();
  const completion = makeTenant('completion');
  const path = `/admin/apps/${one.ids.app}/conversations`;
  const list = `/admin/conversations?app_id=${one.ids.app}`;
  const conversation = (at: number, user: string | null, more = {}) => ({
    ...{ record: 'conversation', id: idAt(at), app_id: one.ids.app, user, created_at: at, ...more },
  });
  const service = useService(
    engine,
    [
      ...records,
      ...completion.records,
      // Equal times, and one without messages.
      ...[1, 2, 3].flatMap((at) => [conversation(at, 'anna'), message(idAt(at), 50)]),
      ...[conversation(4, 'Ann'), message(idAt(4), 60), message(idAt(4), 10)],
      ...[conversation(5, null), message(idAt(5), 40)],
      ...[conversation(6, 'bob'), message(idAt(6), 70), message(idAt(6), 71)],
      ...[conversation(7, 'bob', { deleted: true }), message(idAt(7), 99)],
      ...[conversation(8, '\u{1f600}\u{10ffff}x'), conversation(9, 'bo%'), conversation(10, `${'n'.repeat(300)}2`)],
      ...[conversation(11, `${'n'.repeat(300)}1`), message(idAt(11), 5)],
      ...[message(completion.ids.conversation, 1), message(completion.ids.conversation, 2)],
    ],
    { TRACE_URL: 'https://traces.example.org/{trace_id}?x' },
  );

  const { get, rows } = service.as(admin);
  const numbers = (rows: Row[]) => rows.map(({ id }) => (id === one.ids.conversation ? 0 : Number(id.slice(-12))));

  it('200: sorted by latest update, then by id, descending; each once, whatever the limit', async () => {
    for (const limit of [1, 2, 3, 4, 5, 100]) {
      const order = numbers(await rows(`${list}&limit=${limit}`));
      assert.deepEqual(order.slice(0, 7), [0, 6, 4, 3, 2, 1, 5], String(limit));
      assert.deepEqual(order.slice(7), [11, 10, 9, 8]);
    }
  });

  it('200: has the user, the number of messages and the time of the last one', async () => {
    const noMessages = { name: 'New conversation', message_count: 0, last_message_at: null };
    assert.deepEqual((await get(`${path}/${idAt(6)}`)).body, {
      ...{ id: idAt(6), user: 'bob', name: 'q', created_at: 6, message_count: 2, last_message_at: 71, updated_at: 71 },
    });
    const conversationResponse = await get(`${path}/${idAt(8).toUpperCase()}`);
    assert.deepEqual(conversationResponse.body, {
      id: idAt(8),
      user: '\u{1f600}\u{10ffff}x',
      created_at: 8,
      updated_at: 8,
      ...noMessages,
    });
    assert.equal(conversationResponse.headers['cache-control'], 'no-store');
  });

  it('200: an app without conversations has an empty list', async () => {
    const app = randomUUID();
    await service.load([{ record: 'app', id: app, workspace_id: one.ids.workspace, name: 'empty', mode: 'chat' }]);
    const { body } = await get(`/admin/conversations?app_id=${app}`);
    assert.deepEqual(body, { limit: 20, has_more: false, data: [], next_cursor: null });
  });

  it('200: a restored conversation keeps its counts', async () => {
    await service.load([conversation(6, 'bob', { deleted: true })]);
    assert.equal((await get(`${path}/${idAt(6)}`)).status, 404);
    await service.load([conversation(6, 'bob', { deleted: false })]);
    const { body } = await get(`${path}/${idAt(6)}`);
    assert.deepEqual([body.message_count, body.last_message_at], [2, 71]);
  });

  it('400: an invalid cursor, or a cursor of another list, is rejected', async () => {
    const { next_cursor } = (await get(`${list}&limit=1`)).body;
    assert.equal(typeof next_cursor, 'string');
    for (const url of [
      `${list}&cursor=x`,
      `/admin/apps?cursor=${next_cursor}`,
      `${list}&cursor=${Buffer.from('[1.5,"x"]').toString('base64url')}`,
    ]) {
      const { status, body } = await get(url);
      assert.deepEqual([status, body.message], [400, 'cursor must be a cursor of an earlier page'], url);
    }
    assert.equal((await get(`${list}&limit=0`)).status, 400);
    assert.equal((await get(`${list}&limit=101`)).status, 400);
  });

  it('200: a transcript is the page of GET /v1/messages, with the same tag', async () => {
    const appPage = await service.as(one.keys.app).get(`/v1/messages?conversation_id=${one.ids.conversation}`);
    const adminPage = await get(`${path}/${one.ids.conversation}/messages`);
    assert.equal(adminPage.text, appPage.text);
    assert.equal(adminPage.headers.etag, appPage.headers.etag);
    assert.equal(adminPage.headers['cache-control'], appPage.headers['cache-control']);
    const url = `${path}/${idAt(4)}/messages?limit=1&page_order=oldest_first`;
    const page = await get(url);
    assert.equal(page.body.data[0].created_at, 60);
    const link = `<${path}/${idAt(4)}/messages?limit=1&page_order=oldest_first&first_id=${page.body.data[0].id}>`;
    assert.equal(page.headers.link, `${link}; rel="next"`);
    const older = await get(link.slice(1, -1));
    assert.deepEqual([older.body.data[0].created_at, older.body.has_more, older.headers.link], [10, false, undefined]);
    const etag = page.headers.etag ?? '';
    assert.equal((await get(url, { 'if-none-match': etag })).status, 304);
    const head = await service.request('HEAD', url, { key: admin });
    assert.deepEqual([head.status, head.headers.etag, head.text], [200, etag, '']);
    const plain = await get(`${path}/${idAt(6)}/messages?limit=1`);
    assert.match(String(plain.headers.link), /messages\?limit=1&first_id=/);
  });

  it('200: the feedback texts of a page of messages, oldest message first, and of no other conversation', async () => {
    const id = idAt(30);
    const texts = ['Too short.', null, '😀'.repeat(10_001)];
    const rated = texts.map((feedback_content, at) =>
      message(id, 50 - at, { feedback: { rating: 'dislike' }, ...(feedback_content !== null && { feedback_content }) }),
    );
    Object.assign(rated[1] ?? {}, { model_provider: 'openai', model: 'gpt', trace_id: 'a/b' });
    const gone = idAt(31);
    const ofDeleted = message(gone, 50, { feedback: { rating: 'like' }, feedback_content: 'deleted' });
    const deleted = conversation(31, null, { deleted: true });
    await service.load([conversation(30, null), deleted, ...rated, ofDeleted]);
    const list = (conversation_id: string, ids: string[], app: string = one.ids.app) =>
      get(
        `/admin/apps/${app}/conversations/${conversation_id}/details?${ids.map((id) => `message_id=${id}`).join('&')}`,
      );
    const ids = [...rated, ofDeleted].map((record) => record.id);
    const { status, body } = await list(
      id.toUpperCase(),
      ids.map((id) => id.toUpperCase()),
    );
    assert.equal(status, 200);
    const [first, second, last] = rated;
    const none = { model_provider: null, model: null, trace_url: null };
    const trace_url = 'https://traces.example.org/a%2Fb?x';
    assert.deepEqual(body.data, [
      { message_id: last?.id, feedback_content: '😀'.repeat(10_000), ...none },
      { message_id: second?.id, feedback_content: null, model_provider: 'openai', model: 'gpt', trace_url },
      { message_id: first?.id, feedback_content: 'Too short.', ...none },
    ]);
    assert.deepEqual((await list(gone, ids)).body, { data: [] });
    assert.deepEqual((await list(id, ids, other.ids.app)).body, { data: [] });
    assert.equal((await list(id, ids, 'x')).status, 404);
    assert.equal((await list(id, [])).status, 400);
    assert.equal((await list(id, Array(101).fill('x'))).status, 400);
    assert.equal((await list(id, Array(100).fill(ids[0]))).body.data.length, 1);
  });

  it('200: the first_id of the page with a message, or with the beginning', async () => {
    const id = idAt(40);
    const listed = [-5, 10, 10, 20, 30].map((created_at) => message(id, created_at));
    const ids = listed.map((record) => record.id);
    await service.load([conversation(40, null), ...listed]);
    const locate = (query: string) => get(`${path}/${id.toUpperCase()}/locate?${query}`);
    const at = async (query: string) => ids.indexOf((await locate(query)).body.first_id);
    for (const [n, message_id] of ids.entries())
      for (const newer of [0, 1, 3])
        assert.equal(
          await at(`message_id=${message_id.toUpperCase()}&newer=${newer}`),
          n + newer + 1 < ids.length ? n + newer + 1 : -1,
        );
    assert.deepEqual((await locate(`message_id=${ids[4]}`)).body, { first_id: null });
    assert.equal(await at('newer=2'), 3);
    const { body } = await get(`${path}/${id}/messages?first_id=${ids[3]}`);
    assert.deepEqual([body.has_more, body.data.length], [false, 3]);
    assert.deepEqual((await locate('newer=99')).body, { first_id: null });
    assert.equal((await locate('newer=100')).status, 400);
    for (const [url, text] of [
      [`${path}/${id}/locate?message_id=${randomUUID()}`, 'message not exists'],
      [`${path}/${idAt(1)}/locate?message_id=${ids[0]}`, 'message not exists'],
      [`${path}/${randomUUID()}/locate`, 'conversation not exists'],
      [`/admin/apps/${other.ids.app}/conversations/${id}/locate`, 'conversation not exists'],
    ] as const)
      assert.deepEqual([(await get(url)).status, (await get(url)).body.message], [404, text]);
  });

  it('200: apps of any mode have transcripts', async () => {
    const { status, body } = await get(
      `/admin/apps/${completion.ids.app}/conversations/${completion.ids.conversation}/messages`,
    );
    assert.equal(status, 200);
    assert.equal(body.data.length, 2);
  });
});
