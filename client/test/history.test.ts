import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import { makeTenant, message, type Service, startService } from '../../server/test/support/harness.ts';
import { Aborted, Backscroll, type Fetch, NotFound } from '../src/index.ts';

const tenant = makeTenant();

for (const order of ['newest_first', 'oldest_first']) {
  describe(`history, with PAGE_ORDER=${order}`, () => {
    let service: Service;
    let client: Backscroll;
    before(async () => {
      service = await startService('sqlite', { PAGE_ORDER: order });
      await service.load(tenant.records);
      client = withFetch(fetch);
    });
    after(() => service.close());

    const withFetch = (fetch: Fetch) =>
      new Backscroll({ baseUrl: `${service.base}/v1`, key: tenant.keys.app, retries: 0, fetch });

    /** A conversation with messages at these times; ids in the order of the walk. */
    async function converse(times: readonly number[]): Promise<{ conversation_id: string; newestFirst: string[] }> {
      const conversation_id = randomUUID();
      const messages = times.map((time) => message(conversation_id, time));
      await service.load([{ record: 'conversation', id: conversation_id, app_id: tenant.ids.app }, ...messages]);
      const inOrder = messages.toReversed().sort((a, b) => b.created_at - a.created_at);
      return { conversation_id, newestFirst: inOrder.map(({ id }) => id) };
    }

    it('returns every message once, newest to oldest, with any limit, while others arrive', async () => {
      // Three seconds for all of them: mostly ties.
      const times = fc.array(fc.integer({ min: 100, max: 102 }), { maxLength: 60 });
      const limit = fc.oneof(fc.integer({ min: 1, max: 7 }), fc.constantFrom(20, 59, 60, 100, undefined));
      await fc.assert(
        fc.asyncProperty(times, limit, fc.integer({ min: 1, max: 30 }), async (given, size, every) => {
          const { conversation_id, newestFirst } = await converse(given);
          const seen: string[] = [];
          for await (const { id } of client.history({ conversation_id, limit: size })) {
            seen.push(id);
            if (seen.length % every === 0) await service.load([message(conversation_id, 102)]);
          }
          assert.deepEqual(seen, newestFirst);
        }),
        { numRuns: 25 },
      );
    });

    it('reads one page in advance at most, and none before the loop begins', async () => {
      const { conversation_id, newestFirst } = await converse(Array.from({ length: 9 }, (_, time) => time));
      const requests: (string | null)[] = [];
      const watched = withFetch((url, init) => {
        requests.push(new URL(url).searchParams.get('first_id'));
        return fetch(url, init);
      });
      const walk = watched.history({ conversation_id, limit: 3 });
      assert.equal(requests.length, 0);
      for (const pages of [2, 2, 2, 3, 3, 3, 3, 3, 3]) {
        assert.ok(!(await walk.next()).done);
        assert.equal(requests.length, pages);
      }
      assert.deepEqual(await walk.next(), { value: undefined, done: true });
      assert.deepEqual(requests, [null, newestFirst[2], newestFirst[5]]);
    });

    it('starts before the message of first_id', async () => {
      const { conversation_id, newestFirst } = await converse([1, 2, 3, 4, 5]);
      const seen: string[] = [];
      for await (const { id } of client.history({ conversation_id, first_id: newestFirst[1], limit: 2 })) seen.push(id);
      assert.deepEqual(seen, newestFirst.slice(2));
    });

    it('aborts the pending request when the loop ends', async () => {
      const { conversation_id } = await converse([1, 2, 3]);
      const signals: (AbortSignal | null | undefined)[] = [];
      const slow = withFetch((url, init) => {
        signals.push(init.signal);
        if (signals.length === 1) return fetch(url, init);
        return new Promise((_resolve, reject) => init.signal?.addEventListener('abort', () => reject(new Error())));
      });
      for await (const _ of slow.history({ conversation_id, limit: 1 })) break;
      assert.deepEqual(
        signals.map((signal) => signal?.aborted),
        [false, true],
      );
    });

    it('Aborted: between two messages, and before the first', async () => {
      const { conversation_id } = await converse([1, 2, 3]);
      const controller = new AbortController();
      const walk = client.history({ conversation_id }, { signal: controller.signal });
      assert.ok(!(await walk.next()).done);
      controller.abort('enough');
      await assert.rejects(walk.next(), (error) => error instanceof Aborted && error.cause === 'enough');
      const none = client.history({ conversation_id }, { signal: controller.signal });
      await assert.rejects(none.next(), (error) => error instanceof Aborted && error.cause === 'enough');
    });

    it('NotFound: a conversation that does not exist, thrown when the loop starts', async () => {
      await assert.rejects(client.history({ conversation_id: randomUUID() }).next(), NotFound);
    });

    it('throws for a failed page after the messages before it', async () => {
      const { conversation_id, newestFirst } = await converse([1, 2, 3, 4]);
      const failing = withFetch((url, init) =>
        url.includes('first_id') ? Promise.reject(new Error('cut')) : fetch(url, init),
      );
      const seen: string[] = [];
      const walk = async () => {
        for await (const { id } of failing.history({ conversation_id, limit: 2 })) seen.push(id);
      };
      await assert.rejects(walk(), { name: 'Connection' });
      assert.deepEqual(seen, newestFirst.slice(0, 2));
    });
  });
}
