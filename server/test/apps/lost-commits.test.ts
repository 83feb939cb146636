import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { exportOf } from '../dify/runs.ts';
import { type RecordingProxy, startProxy } from '../store/recording-proxy.ts';
import { makeTwoTenants, newMigratedUrl, type Service, startService } from '../support/harness.ts';

describe('a write whose COMMIT succeeds, but whose response from PostgreSQL is lost', () => {
  const { one, records } = makeTwoTenants();
  const { ids, keys } = one;
  let service: Service;
  let database: Awaited<ReturnType<typeof newMigratedUrl>>;
  let proxy: RecordingProxy;
  before(async () => {
    database = await newMigratedUrl('postgres');
    proxy = await startProxy(database.url);
    service = await startService('postgres', {}, proxy.url);
    await service.load(records);
    await service.load([
      { record: 'conversation', id: ids.conversation, app_id: ids.app, user: 'u' },
      { record: 'message', id: ids.dataset, conversation_id: ids.conversation, query: 'q', answer: 'a' },
    ]);
  });
  after(async () => {
    await service.close();
    await proxy.close();
    await database.remove();
  });

  async function write(method: string, path: string, key: string, body?: object): Promise<number> {
    const losses = proxy.losses();
    proxy.loseNext('COMMIT\0');
    const { status } = await service.request(method, path, { key, ...(body && { body }) });
    assert.equal(proxy.losses(), losses + 1, 'a response was lost');
    return status;
  }

  it('succeeds once', async () => {
    const feedback = `/v1/messages/${ids.dataset}/feedbacks`;
    assert.equal(await write('POST', feedback, keys.app, { rating: 'like', user: 'u' }), 200);
    assert.equal(await write('POST', feedback, keys.app, { rating: null, user: 'u' }), 200);
    const path = `/v1/conversations/${ids.conversation}`;
    assert.equal(await write('POST', `${path}/name`, keys.app, { name: 'n' }), 200);
    assert.equal(await write('DELETE', path, keys.app), 204);
    assert.equal((await service.as(keys.app).delete(path)).status, 404);
    const chunks = one.chunkPath.slice(0, one.chunkPath.lastIndexOf('/'));
    assert.equal(await write('POST', chunks, keys.knowledge, { content: 'new' }), 200);
    assert.equal((await service.as(keys.knowledge).get(chunks)).body.total, 2);
    assert.equal(await write('DELETE', one.chunkPath, keys.knowledge), 204);
  });

  it('is not repeated over a later edit', async (t) => {
    const { chunkPath, keys, ids, records } = makeTwoTenants().one;
    await service.load(records);
    const other = await startService('postgres', {}, database.url);
    t.after(() => other.close());
    const read = () => other.as(keys.knowledge).get(chunkPath);
    const edit = ({ request }: Service, content: string, headers = {}) =>
      request('PATCH', chunkPath, { key: keys.knowledge, body: { content }, headers });
    const texts = [(await read()).body.data.content];
    for (const precondition of ['', 'if-match']) {
      const [lost, later] = [`lost ${precondition}`, `later ${precondition}`];
      texts.push(lost, later);
      const headers = precondition === '' ? {} : { [precondition]: `${(await read()).headers.etag}` };
      const losses = proxy.losses();
      proxy.loseNext('COMMIT\0', () => edit(other, later));
      const { status, body } = await edit(service, lost, headers);
      assert.deepEqual([proxy.losses() - losses, status, body.data?.content], [1, 200, lost]);
      assert.equal((await read()).body.data.content, later);
    }
    const stored = (await exportOf(other.store)).filter(({ id, child_chunk_id }) =>
      [id, child_chunk_id].includes(ids.chunk),
    );
    assert.deepEqual(stored.map(({ content }) => content).sort(), texts.sort());
  });

  it('is not repeated over a later name or rating', async (t) => {
    const { ids, keys, records } = makeTwoTenants().one;
    await service.load([
      ...records,
      { record: 'conversation', id: ids.conversation, app_id: ids.app, user: 'u' },
      { record: 'message', id: ids.dataset, conversation_id: ids.conversation, query: 'q', answer: 'a' },
    ]);
    const other = await startService('postgres', {}, database.url);
    t.after(() => other.close());
    const post = ({ request }: Service, path: string, body: object) =>
      request('POST', path, { key: keys.app, body: { user: 'u', ...body } });
    for (const [path, lost, later] of [
      [`/v1/conversations/${ids.conversation}/name`, { name: 'lost' }, { name: 'later' }],
      [`/v1/messages/${ids.dataset}/feedbacks`, { rating: 'like' }, { rating: 'dislike' }],
    ] as const) {
      const losses = proxy.losses();
      proxy.loseNext('COMMIT\0', () => post(other, path, later));
      assert.equal((await post(service, path, lost)).status, 200);
      assert.equal(proxy.losses(), losses + 1);
    }
    const stored = (await exportOf(other.store)).filter(({ id }) => id === ids.conversation || id === ids.dataset);
    const [conversation, message] = ['conversation', 'message'].map((kind) =>
      stored.find(({ record }) => record === kind),
    );
    assert.deepEqual([conversation?.name, message?.feedback], ['later', { rating: 'dislike' }]);
  });
});
