import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { exportOf, runImport, startDify } from '../dify/runs.ts';
import { difyId, ids } from '../support/dify-database.ts';
import { itOnOneEngine, message, onEveryEngine } from '../support/harness.ts';

onEveryEngine('an import from Dify after an erasure', (engine) => {
  const start = async (t: TestContext) => {
    const { dify, service } = await startDify(t, engine);
    const idsIn = async () => new Set((await exportOf(service.store)).map(({ id }) => id));
    return { dify, service, store: service.store, idsIn };
  };
  const eraser = { action: 'purge', key_id: null, now: Math.floor(Date.now() / 1000) } as const;
  const touch = (conversation: string) =>
    `UPDATE conversations SET name = 'touched', updated_at = now() WHERE id = '${conversation}';
     UPDATE messages SET query = query || '!', updated_at = now() WHERE conversation_id = '${conversation}'`;
  const newMessage = (nth: number) => ({
    ...{ id: difyId(nth), conversation_id: ids.conversation, app_id: ids.app, inputs: {} },
    ...{ query: `message ${nth}`, answer: 'a' },
  });

  itOnOneEngine(engine, 'never brings it back, not even changed, forced or with new messages', async (t) => {
    const { dify, store, idsIn } = await start(t);
    await runImport(dify.url, store);
    await store.erasure.erase({ conversation_id: ids.conversation }, eraser);
    await dify.run(touch(ids.conversation));
    await dify.insert('messages', newMessage(70));
    for (const options of [{}, { isForced: true }, { isOwner: true }]) {
      const { differing, skips } = await runImport(dify.url, store, options);
      const stored = await idsIn();
      for (const id of [ids.conversation, difyId(21), difyId(22), difyId(23), difyId(70)]) assert.ok(!stored.has(id));
      assert.deepEqual([differing, skips.filter(({ kind }) => kind === 'message')], [[], []]);
    }
  });

  itOnOneEngine(engine, 'never brings back one message, and updates the others', async (t) => {
    const { dify, store, idsIn } = await start(t);
    await runImport(dify.url, store);
    const location = { app_id: ids.app, conversation_id: ids.conversation, message_id: difyId(22) };
    assert.equal(await store.run('deleteMessage', { location, eraser }), 'deleted');
    await dify.run(touch(ids.conversation));
    await dify.insert('messages', newMessage(70));
    const { differing, events } = await runImport(dify.url, store, { isForced: true });
    const stored = await idsIn();
    assert.deepEqual(
      [21, 22, 23, 70].map((nth) => stored.has(difyId(nth))),
      [true, false, true, true],
    );
    assert.deepEqual(differing, []);
    assert.ok([...events.keys()].some((what) => what.includes('erased in Backscroll')));
  });

  itOnOneEngine(engine, 'updates what a file has created again, and imports what is new since', async (t) => {
    const { dify, service, store, idsIn } = await start(t);
    await runImport(dify.url, store);
    await store.erasure.erase({ conversation_id: ids.conversation }, eraser);
    const restored = message(ids.conversation, 1793600000, { id: difyId(21), query: 'restored' });
    await service.load([
      { record: 'conversation', id: ids.conversation, app_id: ids.app, user: 'visitor-1' },
      { ...restored },
    ]);
    await dify.run(touch(ids.conversation));
    // Later than the erasure, in seconds.
    while (Math.floor(Date.now() / 1000) <= eraser.now) await sleep(50);
    await dify.insert('messages', newMessage(70));
    await runImport(dify.url, store, { isForced: true });
    const stored = await idsIn();
    assert.deepEqual(
      [21, 22, 23, 70].map((nth) => stored.has(difyId(nth))),
      [true, false, false, true],
    );
    const record = (await exportOf(store)).find(({ id }) => id === difyId(21));
    assert.notEqual(record?.query, 'restored');
  });

  it('rejects it even if the erasure comes between reading and writing', async (t) => {
    const { dify, store, idsIn } = await start(t);
    const { openImport } = store;
    let erased = 0;
    // As if another process did it.
    store.openImport = async () => {
      const pending = await openImport.call(store);
      const { apply } = pending;
      pending.apply = async (...args) => {
        if ((await store.lookup('conversation', [ids.conversation])).size > 0) {
          const { conversations } = await store.erasure.erase({ conversation_id: ids.conversation }, eraser);
          erased += conversations;
        }
        return apply(...args);
      };
      return pending;
    };
    await runImport(dify.url, store);
    await dify.run(touch(ids.conversation));
    await runImport(dify.url, store);
    assert.equal(erased, 1);
    assert.ok(!(await idsIn()).has(ids.conversation));
  });
});
