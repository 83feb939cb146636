import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import type { Store } from '../../src/domain/store/store.ts';
import { difyId, ids, tokens } from '../support/dify-database.ts';
import { onEveryEngine } from '../support/harness.ts';
import { exportOf, runImport, startDify } from './runs.ts';

const other = difyId(50);

/** A process that is killed when it calls this method. */
const killedAt = (store: Store, name: string): Store =>
  new Proxy(store, {
    get: (target, property) => {
      const value = target[property as keyof Store] as unknown;
      if (property === 'imports') return killedAt(value as Store, name);
      if (property === name) return () => Promise.reject(new Error('killed'));
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });

onEveryEngine('a conversation that Dify marks as deleted', (engine) => {
  const start = async (t: TestContext) => {
    const { dify, service } = await startDify(t, engine);
    const { store, request } = service;
    await dify.insert('conversations', { id: other, app_id: ids.app, from_end_user_id: ids.user });
    await runImport(dify.url, store);
    const mark = (is_deleted: boolean, id: string = ids.conversation) =>
      dify.run(
        `UPDATE conversations SET is_deleted = ${is_deleted}, introduction = '${Math.random()}' WHERE id = '${id}'`,
      );
    const isDeleted = async (id: string = ids.conversation) =>
      (await exportOf(store)).find((record) => record.id === id)?.deleted;
    const deleteHere = async (id: string) => {
      const path = `/v1/conversations/${id}`;
      const { status } = await request('DELETE', path, { key: tokens.app, body: { user: 'visitor-1' } });
      assert.equal(status, 204);
    };
    return { dify, store, mark, isDeleted, deleteHere };
  };

  it('comes back when the mark is taken back, also of one that was never seen without it', async (t) => {
    const { dify, store, mark, isDeleted } = await start(t);
    assert.equal(await isDeleted(ids.deleted), true);
    for (const is_deleted of [true, false, true, false]) {
      await mark(is_deleted);
      await mark(is_deleted, ids.deleted);
      await runImport(dify.url, store);
      assert.deepEqual([await isDeleted(), await isDeleted(ids.deleted)], [is_deleted, is_deleted]);
    }
  });

  it('does not come back if it was deleted here first', async (t) => {
    const { dify, store, mark, isDeleted, deleteHere } = await start(t);
    await deleteHere(other);
    for (const is_deleted of [true, false]) {
      await mark(is_deleted, other);
      await runImport(dify.url, store);
      assert.equal(await isDeleted(other), true);
    }
    // Its row is gone for a while, too.
    await dify.run(
      `CREATE TABLE saved AS SELECT * FROM conversations; DELETE FROM conversations WHERE id = '${other}'`,
    );
    await runImport(dify.url, store);
    await dify.run(`INSERT INTO conversations SELECT * FROM saved WHERE id = '${other}'`);
    await runImport(dify.url, store);
    assert.equal(await isDeleted(other), true);
  });

  for (const call of ['openImport', 'removeIds'])
    it(`comes back after a kill at ${call}, and then stays deleted if it is deleted here`, async (t) => {
      const { dify, store, mark, isDeleted, deleteHere } = await start(t);
      await mark(true);
      await runImport(dify.url, store);
      await mark(false);
      await assert.rejects(runImport(dify.url, killedAt(store, call)), /killed/);
      await runImport(dify.url, store);
      assert.equal(await isDeleted(), false);
      await deleteHere(ids.conversation);
      await mark(false);
      await runImport(dify.url, store);
      assert.equal(await isDeleted(), true);
    });
});
