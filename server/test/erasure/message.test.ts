import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { it } from 'node:test';
import { makeTwoTenants, message, onEveryEngine, pluck, useService } from '../support/harness.ts';

onEveryEngine('DELETE of a message', (engine) => {
  const { one, other, admin, records } = makeTwoTenants();
  const key = one.keys.app;
  const newConversation = (more: object = {}) => {
    const id = randomUUID();
    return { record: 'conversation', id, app_id: one.ids.app, user: 'ann', created_at: 1000, ...more };
  };
  const remove = (conversation_id: string, message_id: string, with_key: string = one.keys.writer) =>
    service.as(with_key).delete(`/admin/apps/${one.ids.app}/conversations/${conversation_id}/messages/${message_id}`);
  const pageOf = (id: string, more = '') => service.as(key).get(`/v1/messages?conversation_id=${id}${more}`);
  /** What lists and totals show of a conversation, without what identifies it. */
  const shownOf = async (id: string) => {
    const { body: list } = await service.as(key).get('/v1/conversations?limit=100');
    const { body: summaries } = await service.as(admin).get(`/admin/conversations?id=${id}`);
    const listed = list.data.find((item: { id: string }) => item.id === id);
    const without = ({ id: _, ...rest }: Record<string, unknown>) =>
      JSON.parse(JSON.stringify(rest).replaceAll(id, ''));
    return [without(listed), without(summaries.data[0])];
  };
  const service = useService(engine, records);

  it('204: leaves a conversation as if the message had never been there', async () => {
    for (const removed of [[0], [2], [1, 2], [0, 1, 2]]) {
      const [with_all, without] = [newConversation(), newConversation()];
      const texts = [0, 1, 2].map((at) => {
        const feedback = at === 1 ? { rating: 'dislike' } : null;
        const usage = { message_tokens: at, total_price: `0.${at}`, currency: 'USD', model: `model ${at}` };
        return { query: `query ${at}`, inputs: { at }, feedback, ...usage };
      });
      const all = texts.map((text, at) => message(with_all.id, 2000 + at * 90_000, text));
      const kept = texts.flatMap((text, at) =>
        removed.includes(at) ? [] : [message(without.id, 2000 + at * 90_000, text)],
      );
      await service.load([with_all, without, ...all, ...kept]);
      for (const at of removed) assert.equal((await remove(with_all.id, all[at]?.id ?? '')).status, 204);
      assert.deepEqual(await shownOf(with_all.id), await shownOf(without.id), String(removed));
      const ids = (await pageOf(with_all.id)).body.data.map(({ query }: { query: string }) => query);
      assert.deepEqual(ids, kept.map(({ query }) => query).reverse());
      // A message that is added later is the first one, if none was left.
      await service.load([with_all, without].map(({ id }) => message(id, 500_000, { query: 'later', inputs: {} })));
      assert.deepEqual(await shownOf(with_all.id), await shownOf(without.id), `later, ${removed}`);
    }
  });

  it('204: changes the ETag, skips nothing around it, and its id is no cursor any more', async () => {
    const chat = newConversation();
    const all = Array.from({ length: 6 }, (_, at) => message(chat.id, 2000 + at));
    await service.load([chat, ...all]);
    const before = await pageOf(chat.id);
    const [removed, next] = [all[3]?.id ?? '', all[4]?.id ?? ''];
    assert.equal((await remove(chat.id, removed.toUpperCase())).status, 204);
    const tag = before.headers.etag ?? '';
    const current = await service.as(key).get(`/v1/messages?conversation_id=${chat.id}`, { 'if-none-match': tag });
    assert.equal(current.status, 200);
    const older = (await pageOf(chat.id, `&first_id=${next}&limit=2`)).body.data;
    assert.deepEqual(pluck(older, 'id'), [all[2]?.id, all[1]?.id]);
    const gone = await pageOf(chat.id, `&first_id=${removed}`);
    assert.deepEqual([gone.status, gone.body.message], [404, 'first message not exists']);
    assert.equal((await remove(chat.id, removed)).status, 404);
  });

  it('204: the feed lists it as gone, the search does not find it, and the audit log names it without its text', async () => {
    const chat = newConversation();
    const [kept, removed] = [
      message(chat.id, 1, { query: 'keptword erased' }),
      message(chat.id, 2, { query: 'erasedword erased' }),
    ];
    await service.load([chat, kept, removed]);
    await service.index();
    const hits = async (q: string) => (await service.as(admin).get(`/admin/search?q=${q}`)).body.data.length;
    assert.deepEqual([await hits('erasedword'), await hits('erased')], [1, 2]);
    const { cursor } = (await service.as(admin).get('/admin/changes?after=now')).body;
    assert.equal((await remove(chat.id, removed.id, admin)).status, 204);
    assert.deepEqual([await hits('erasedword'), await hits('erased')], [0, 1]);
    await service.index();
    assert.deepEqual([await hits('erasedword'), await hits('keptword')], [0, 1]);
    const feed = (await service.as(one.keys.feed).get(`/admin/changes?after=${cursor}`)).body.data;
    assert.deepEqual(
      feed.map(({ kind, id, gone, path }: Record<string, unknown>) => ({ kind, id, gone, path })),
      [
        {
          ...{ kind: 'message', id: removed.id, gone: true },
          path: {
            ...{ workspace_id: one.ids.workspace, app_id: one.ids.app },
            ...{ conversation_id: chat.id, user: 'ann' },
          },
        },
      ],
    );
    const { text, body } = await service.as(admin).get('/admin/activity?action=purge&limit=1');
    const [entry] = body.data;
    assert.deepEqual([entry.record, entry.count, entry.messages, entry.app_id], ['message', 1, 1, one.ids.app]);
    assert.deepEqual(entry.records[0].id, `${chat.id}/${removed.id}`);
    assert.ok(!text.includes('erasedword'));
  });

  it('404: a message, conversation or app that does not exist, or a writer key of another app', async () => {
    const chat = newConversation({ deleted: true });
    const own = message(chat.id, 1);
    await service.load([chat, own]);
    for (const [conversation_id, message_id, with_key] of [
      [chat.id, randomUUID(), admin],
      [one.ids.conversation, own.id, admin],
      [other.ids.conversation, own.id, admin],
      [randomUUID(), own.id, one.keys.writer],
      [chat.id, own.id, other.keys.writer],
    ] as const)
      assert.equal((await remove(conversation_id, message_id, with_key)).status, 404);
    // It is there, although its conversation is deleted.
    assert.equal((await remove(chat.id, own.id)).status, 204);
  });
});
