import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { it } from 'node:test';
import { makeTwoTenants, message, onEveryEngine, pluck, startService, type Tenant } from '../support/harness.ts';

onEveryEngine('appends at the same time', (engine) => {
  it('that create one conversation in two apps: one of them fails, alone, and the other is stored once', async (t) => {
    const service = await startService(engine);
    t.after(() => service.close());
    const { one, other, admin, records } = makeTwoTenants();
    await service.load(records);
    const changesAfter = async (cursor: string) =>
      (await service.as(admin).get(`/admin/changes?limit=1000&after=${cursor}`)).body;
    const { cursor } = await changesAfter('now');
    const append = async ({ ids, keys }: Tenant, id: string) => {
      const text = message(id, 2_000);
      const { status } = await service
        .as(keys.writer)
        .append({ record: 'conversation', id, app_id: ids.app, user: 'ann', created_at: 1_000 }, text);
      return { status, app_id: ids.app, key: keys.app, conversation_id: id, message_id: text.id };
    };
    const conversations = Array.from({ length: 12 }, () => randomUUID());
    const pairs = await Promise.all(conversations.map((id) => Promise.all([append(one, id), append(other, id)])));
    const stored = pairs.map((pair) => {
      assert.deepEqual(pair.map(({ status }) => status).sort(), [200, 400]);
      return pair.find(({ status }) => status === 200) as (typeof pair)[0];
    });
    for (const { key, conversation_id, message_id } of stored) {
      const path = `/v1/messages?conversation_id=${conversation_id}&user=ann`;
      const { body } = await service.as(key).get(path);
      assert.deepEqual(pluck(body.data, 'id'), [message_id]);
    }
    const changes: { kind: string; id: string }[] = (await changesAfter(cursor)).data;
    assert.deepEqual(
      changes.map(({ kind, id }) => `${kind} ${id}`).sort(),
      stored
        .flatMap(({ conversation_id, message_id }) => [`conversation ${conversation_id}`, `message ${message_id}`])
        .sort(),
    );
  });
});
