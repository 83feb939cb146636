import assert from 'node:assert/strict';
import { randomInt, randomUUID } from 'node:crypto';
import { it } from 'node:test';
import { setImmediate as nextTick } from 'node:timers/promises';
import { changeKinds } from '../../src/contract/change.ts';
import { makeTwoTenants, message, onEveryEngine, type Service, startService } from '../support/harness.ts';

type Entry = {
  cursor: string;
  kind: string;
  id: string;
  gone: boolean;
  path: { conversation_id?: string };
  record: { record: string } | null;
};

/** What a consumer stores: records by kind and id, and its cursor. */
class Follower {
  readonly records = new Map<string, object>();
  readonly entries: string[] = [];
  cursor: string | undefined;
  readonly #service: Service;
  readonly #key: string;

  constructor(service: Service, key: string) {
    this.#service = service;
    this.#key = key;
  }

  /** Reads one page of random size. Sometimes its effect is lost, as in a crash, and the page is read again. */
  async step(): Promise<boolean> {
    const query = new URLSearchParams({ limit: `${randomInt(1, 20)}`, ...(this.cursor && { after: this.cursor }) });
    const { status, body } = await this.#service.request('GET', `/admin/changes?${query}`, { key: this.#key });
    assert.equal(status, 200);
    if (randomInt(10) === 0) return true;
    for (const entry of body.data as Entry[]) this.#apply(entry);
    this.cursor = body.cursor;
    return body.has_more as boolean;
  }

  #apply({ cursor, kind, id, gone, path, record }: Entry): void {
    this.entries.push(cursor);
    const key = `${kind} ${path.conversation_id ?? ''} ${id}`;
    if (!gone && record !== null) this.records.set(key, record);
    else this.records.delete(key);
    if (!gone || kind !== 'conversation') return;
    for (const stored of [...this.records.keys()]) if (stored.startsWith(`message ${id} `)) this.records.delete(stored);
  }

  async catchUp(): Promise<void> {
    for (let idle = 0; idle < 3; ) idle = (await this.step()) ? 0 : idle + 1;
  }

  sorted(): string[] {
    return [...this.records.values()].map((record) => JSON.stringify(record)).sort();
  }
}

onEveryEngine('followers of the change feed', (engine) => {
  it('end up with the database, whatever is written meanwhile', async () => {
    const { one, other, admin, records } = makeTwoTenants();
    const service = await startService(engine);
    try {
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
      const actions = [
        () => service.load([conversation(pickOne()), message(conversations[0] as string, randomInt(1000))]),
        () => service.load([message(one.ids.conversation, 5), message(other.ids.conversation, 6)]),
        () => service.load([conversation(pickOne(), { deleted: false })]),
        () => service.request('DELETE', `/v1/conversations/${pickOne()}`, { key }),
        () => service.request('POST', `/v1/conversations/${pickOne()}/name`, { key, body: { name: randomUUID() } }),
        ...[one, other].map(
          (tenant) => () =>
            service.request('PATCH', tenant.chunkPath, {
              key: tenant.keys.knowledge,
              body: { content: randomUUID() },
            }),
        ),
        () => service.load([{ record: 'workspace', id: one.ids.workspace, name: randomUUID() }]),
        () => service.store.purge({ conversation_id: conversations[5] as string }, 1),
      ];
      let isWriting = true;
      const followers = [new Follower(service, admin), new Follower(service, admin)];
      const following = followers.map(async (follower) => {
        while (isWriting) {
          await follower.step();
          await nextTick();
        }
      });
      const writers = Array.from({ length: 4 }, async () => {
        for (let write = 0; write < 25; write += 1) await actions[randomInt(actions.length)]?.();
      });
      await Promise.all(writers);
      isWriting = false;
      await Promise.all(following);
      const exported = (await service.request('GET', '/admin/records', { key: admin })).text.trim().split('\n');
      const expected = exported.map((line) => JSON.parse(line)).filter(({ record }) => changeKinds.includes(record));
      const gone = new Set(expected.filter(({ deleted }) => deleted).map(({ id }) => id));
      const present = expected.filter(({ id, conversation_id }) => !gone.has(id) && !gone.has(conversation_id));
      for (const follower of followers) {
        await follower.catchUp();
        assert.deepEqual(follower.sorted(), present.map((record) => JSON.stringify(record)).sort());
      }
      assert.equal(followers[0]?.cursor, followers[1]?.cursor);
    } finally {
      await service.close();
    }
  });
});
