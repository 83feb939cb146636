import assert from 'node:assert/strict';
import { randomInt, randomUUID } from 'node:crypto';
import { it } from 'node:test';
import { setImmediate as nextTick } from 'node:timers/promises';
import { killFeed } from '../../../experiments/feed.ts';
import { Follower } from '../../../experiments/support/follower.ts';
import { purge } from '../../src/domain/erasure/purge.ts';
import { retain } from '../../src/domain/erasure/retention.ts';
import { makeTwoTenants, message, onEveryEngine, startService } from '../support/harness.ts';
import { isLong, shortOrLong } from '../support/long.ts';

onEveryEngine('followers of the change feed', (engine) => {
  it('end up with the database, whatever is written meanwhile', async (t) => {
    const { one, other, admin, records } = makeTwoTenants();
    const service = await startService(engine);
    t.after(() => service.close());
    await service.load(records);
    const conversations = Array.from({ length: 6 }, () => randomUUID());
    const conversation = (id: string, more = {}) => ({
      record: 'conversation',
      id,
      app_id: one.ids.app,
      user: 'ann',
      ...more,
    });
    await service.load(conversations.map((id) => conversation(id)));
    const pickOne = () => conversations[randomInt(conversations.length)] as string;
    const key = one.keys.app;
    const erased = randomUUID();
    const actions = [
      () => service.load([conversation(pickOne()), message(conversations[0] as string, randomInt(10, 1000))]),
      () => service.load([message(one.ids.conversation, 5), message(other.ids.conversation, 6)]),
      () => service.load([conversation(pickOne(), { deleted: false })]),
      () => service.as(key).delete(`/v1/conversations/${pickOne()}`),
      () => service.as(key).post(`/v1/conversations/${pickOne()}/name`, { name: randomUUID() }),
      ...[one, other].map(
        (tenant) => () => service.as(tenant.keys.knowledge).patch(tenant.chunkPath, { content: randomUUID() }),
      ),
      () => service.load([{ record: 'workspace', id: one.ids.workspace, name: randomUUID() }]),
      () =>
        service.load([
          conversation(conversations[1] as string),
          { ...message(conversations[1] as string, 3), id: erased },
        ]),
      () => service.as(admin).delete(`/admin/apps/${one.ids.app}/conversations/${conversations[1]}/messages/${erased}`),
      () => retain(service.store, { now: 40 * 86_400 + 5, retention_days: 40 }, () => undefined),
      () => purge(service.store, { conversation_id: conversations[5] as string }, { key_id: null, now: 1 }),
    ];
    let isWriting = true;
    const followers = Array.from({ length: 2 }, () => new Follower(() => service.base, admin));
    const following = followers.map(async (follower) => {
      while (isWriting) {
        await follower.step();
        await nextTick();
      }
    });
    const writers = Array.from({ length: 4 }, async () => {
      for (let write = 0; write < shortOrLong(10, 25); write += 1) await actions[randomInt(actions.length)]?.();
    });
    await Promise.all(writers).finally(() => {
      isWriting = false;
    });
    await Promise.all(following);
    const exported = (await service.as(admin).get('/admin/records')).text;
    for (const follower of followers) {
      await follower.catchUp();
      assert.deepEqual(await follower.differences(exported), []);
      assert.deepEqual(follower.unexpected, []);
      follower.close();
    }
    assert.equal(followers[0]?.cursor, followers[1]?.cursor);
  });
});

// Without TEST_LONG, `crash.test.ts` kills before each statement that numbers changes.
if (isLong)
  onEveryEngine('the change feed after kill -9', (engine) => {
    it('lists every change', async (t) => {
      for (const { promise, measured, holds } of await killFeed({ engine, kills: 4 })) {
        t.diagnostic(`${promise}: ${measured}`);
        assert.ok(holds, `${promise}: ${measured}`);
      }
    });
  });
