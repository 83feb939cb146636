import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import pg from 'pg';
import { onDatabase } from '../support/faulty-postgres.ts';
import { makeTwoTenants, message, newMigratedUrl, type Service, startService } from '../support/harness.ts';

const prepared = 'citus_0_1_2_3';

/**
 * On Citus a COMMIT succeeds when every node has prepared its part. If a node then loses its connection, its part stays prepared: its
 * rows are not visible and stay locked until the transaction is recovered. Here the one server is that node, for the next
 * transaction that has this statement.
 */
function interruptNextCommit(start: string): { end: () => void } {
  const { query } = pg.Client.prototype;
  const end = () => void Object.assign(pg.Client.prototype, { query });
  const writers = new WeakSet<pg.Client>();
  function interrupted(this: pg.Client, statement: { text: string }, ...more: unknown[]): unknown {
    const run = (sent: unknown) => (query as (...all: unknown[]) => unknown).call(this, sent, ...more);
    if (statement.text.trimStart().startsWith(start)) writers.add(this);
    if (statement.text !== 'COMMIT' || !writers.has(this)) return run(statement);
    end();
    return run({ ...statement, text: `PREPARE TRANSACTION '${prepared}'` });
  }
  Object.assign(pg.Client.prototype, { query: interrupted });
  return { end };
}

describe('while a commit is incomplete', () => {
  const { one, admin, records } = makeTwoTenants();
  let service: Service;
  let remove: () => Promise<void>;
  let url: string;
  before(async () => {
    ({ url, remove } = await newMigratedUrl('postgres'));
    service = await startService('postgres', { DATABASE_TIMEOUT: '1000' }, url);
    await service.load([...records, message(one.ids.conversation, 1, { answer: 'lantern' })]);
    await service.index();
  });
  after(async () => {
    await service?.close();
    await remove?.();
  });

  const complete = () => onDatabase(url, (client) => client.query(`COMMIT PREPARED '${prepared}'`));
  const read = async (cursor: string) => {
    const { status, body } = await service.as(admin).get(`/admin/changes?after=${cursor}`);
    return { status, cursor: body.cursor, kinds: body.data?.map(({ kind }: { kind: string }) => kind) };
  };
  const edit = (content: string) => service.as(one.keys.knowledge).patch(one.chunkPath, { content });
  const hits = async () => {
    const { body } = await service.as(admin).get('/admin/search?q=lantern');
    return body.data.length;
  };

  it('that sequences changes: no reader passes the entries, no cursor is gone, and the index stays', async () => {
    const { cursor: start } = await read('now');
    await edit('first');
    const first = await read(start);
    assert.deepEqual(first.kinds, ['child_chunk']);
    await edit('second');
    const interruption = interruptNextCommit('UPDATE changes_head SET position');
    try {
      assert.deepEqual(await read(first.cursor), { status: 200, cursor: first.cursor, kinds: [] });
      // What was sequenced before is served, although the head cannot be locked.
      assert.deepEqual(await read(start), first);
      await service.index();
      assert.equal(await hits(), 1);
    } finally {
      interruption.end();
      await complete();
    }
    assert.deepEqual((await read(first.cursor)).kinds, ['child_chunk']);
    await service.index();
    assert.equal(await hits(), 1);
  });

  it('an index that seems to be ahead of the feed waits for it', async () => {
    const { cursor } = await service.store.search.state();
    const move = (by: number) =>
      onDatabase(url, (client) => client.query('UPDATE changes_head SET position = position + $1', [by]));
    await move(-1);
    await assert.rejects(service.index(), { code: 'cursor_gone' });
    await move(1);
    await service.index();
    assert.equal((await service.store.search.state()).cursor, cursor);
    assert.equal(await hits(), 1);
  });

  it('that erases a conversation: the response says so', async () => {
    const interruption = interruptNextCommit('DELETE FROM conversations');
    try {
      const body = { conversation_id: one.ids.conversation };
      const erased = await service.as(admin).post('/admin/purge', body);
      assert.deepEqual([erased.status, erased.body.conversations, erased.body.messages], [200, 1, 1], erased.text);
    } finally {
      interruption.end();
      await complete();
    }
  });
});
