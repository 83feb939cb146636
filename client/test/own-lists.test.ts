import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { makeTwoTenants, message, type Service, startService } from '../../server/test/support/harness.ts';
import { Aborted, Backscroll, type Items, NotFound } from '../src/index.ts';

const { one, admin, records } = makeTwoTenants();

async function all<I>(items: Items<I>): Promise<I[]> {
  const list: I[] = [];
  for await (const item of items) list.push(item);
  return list;
}

describe('lists of feedback, found messages, users and exported records', () => {
  let service: Service;
  const conversations = ['ann', 'bob', 'cid'].map((user) => ({
    ...{ record: 'conversation', id: randomUUID(), app_id: one.ids.app, user, created_at: 1 },
  }));
  const messages = conversations.flatMap(({ id }) =>
    [10, 20, 30].map((at) => message(id, at, { answer: `heron ${at}`, feedback: { rating: 'like' } })),
  );
  before(async () => {
    service = await startService('sqlite');
    await service.load([...records, ...conversations, ...messages]);
    await service.index();
  });
  after(() => service.close());
  const withKey = (key: string) => new Backscroll({ baseUrl: `${service.base}/v1`, key, retries: 0 });

  it('return each item once, whatever the size of the pages', async () => {
    for (const limit of [1, 2, 4, undefined]) {
      const feedbacks = await all(withKey(one.keys.app).feedbacks({ limit }));
      assert.deepEqual(feedbacks.map(({ message_id }) => message_id).sort(), messages.map(({ id }) => id).sort());
      const found = await all(withKey(one.keys.app).searchMessages({ user: 'bob', query: 'heron', limit }));
      assert.deepEqual(
        found.map(({ created_at }) => created_at),
        [30, 20, 10],
      );
      const users = await all(withKey(admin).users({ sort: 'user', app_id: one.ids.app, limit }));
      assert.deepEqual(
        users.map(({ user }) => user),
        ['ann', 'bob', 'cid'],
      );
    }
  });

  it('export records with filters, and throw the errors of the service', async () => {
    const exported = await all(withKey(admin).exportRecords({ user: 'bob', from: 20, to: 30 }));
    assert.deepEqual(
      exported.map(({ record }) => record),
      ['workspace', 'app', 'conversation', 'message'],
    );
    assert.equal(exported.at(-1)?.answer, 'heron 20');
    const kinds = await all(withKey(admin).exportRecords({ kinds: ['workspace', 'app'] }));
    assert.equal(kinds.length, 4);
    await assert.rejects(all(withKey(admin).exportRecords({ app_id: randomUUID() })), NotFound);
    const signal = AbortSignal.abort();
    await assert.rejects(all(withKey(admin).exportRecords({}, { signal })), Aborted);
    // Leaving the loop ends the response.
    for await (const { record } of withKey(admin).exportRecords()) {
      assert.equal(record, 'workspace');
      break;
    }
  });
});
