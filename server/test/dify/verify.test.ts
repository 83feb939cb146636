import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import { difyId, ids } from '../support/dify-database.ts';
import { onOneEngine } from '../support/harness.ts';
import { until } from '../support/until.ts';
import { startLoad } from './load.ts';
import { exportOf, runImport, startDify, verify } from './runs.ts';

onOneEngine('a comparison of all records with the source', (engine) => {
  const start = (t: TestContext) => startDify(t, engine);

  it('names what differs by kind, and writes nothing', async (t) => {
    const { dify, service } = await start(t);
    const { store } = service;
    const [changed, unrated, added] = [difyId(21), difyId(22), difyId(60)];
    await runImport(dify.url, store);
    assert.deepEqual(await verify(dify.url, store), {});
    const row = { app_id: ids.app, inputs: {} };
    await dify.insert('messages', { ...row, id: added, conversation_id: ids.conversation, query: 'new' });
    await dify.insert('messages', { ...row, id: difyId(61), conversation_id: ids.conversation, answer: '' });
    await dify.run(`
      UPDATE messages SET answer = 'other' WHERE id = '${changed}';
      DELETE FROM message_feedbacks WHERE from_source = 'user';
      UPDATE conversations SET name = 'other' WHERE id = '${ids.conversation}';
      DELETE FROM conversations WHERE id = '${ids.deleted}';
      DELETE FROM child_chunks; DELETE FROM document_segments;
      UPDATE documents SET name = 'other'; UPDATE datasets SET name = 'other';
      DELETE FROM api_tokens WHERE id = '${difyId(31)}'`);
    const before = await exportOf(store);
    const differing = await verify(dify.url, store);
    assert.deepEqual(differing.message?.toSorted(), [changed, unrated, added].toSorted());
    const { message: _, ...others } = differing;
    assert.deepEqual(others, {
      dataset: [ids.dataset],
      api_key: [difyId(31)],
      conversation: [ids.conversation],
      document: [ids.document],
      segment: [ids.segment],
      child_chunk: [ids.chunk],
    });
    assert.deepEqual(await exportOf(store), before);
    await runImport(dify.url, store);
    assert.deepEqual(await verify(dify.url, store), {});
  });

  it('does not name what is kept here, unless that would be overwritten', async (t) => {
    const { dify, service } = await start(t);
    const { store } = service;
    await runImport(dify.url, store);
    const eraser = { action: 'purge', key_id: null, now: Math.floor(Date.now() / 1000) } as const;
    const location = { app_id: ids.app, conversation_id: ids.conversation, message_id: difyId(21) };
    assert.equal(await store.run('deleteMessage', { location, eraser }), 'deleted');
    const path = `/v1/messages/${difyId(22)}/feedbacks`;
    const body = { rating: 'like', user: 'visitor-1' };
    assert.equal((await service.as(`app-${'Ab3'.repeat(8)}`).post(path, body)).status, 200);
    assert.deepEqual(await verify(dify.url, store), {});
    assert.deepEqual(await verify(dify.url, store, { isForced: true }), { message: [difyId(22)] });
  });

  it('has no false alarm while the source is used and followed', async (t) => {
    const { dify, service } = await start(t);
    let [polls, stop] = [0, () => {}];
    const following = runImport(dify.url, service.store, {
      follow: 0.05,
      onPoll: (stopRun) => {
        polls += 1;
        stop = stopRun;
      },
    });
    await until(() => polls > 0);
    const load = startLoad(dify.url);
    assert.deepEqual(await verify(dify.url, service.store, { settleMillis: 5_000 }), {});
    await load.end();
    stop();
    await following.catch((error) => assert.equal(error.name, 'AbortError'));
  });
});
