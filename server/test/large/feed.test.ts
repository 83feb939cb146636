import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import { it } from 'node:test';
import { limits } from '../../src/contract/limits.ts';
import { itOnOneEngine, makeTwoTenants, message, onEveryEngine, useService } from '../support/harness.ts';

/** Two of them are more than a page that needs no slot. */
const answer = 'x'.repeat(0.6 * limits.pageBytesMax);
const count = 8;

onEveryEngine('pages of the feed with large messages', (engine) => {
  const { one, admin, records } = makeTwoTenants();
  const messages = Array.from({ length: count }, (_, n) => message(one.ids.conversation, n, { answer }));
  const path = '/admin/changes?kinds=message';
  const service = useService(engine, [...records, ...messages], { SEARCH: 'off' });

  it('200: a page ends early while all slots for large pages are in use, and the next ones have all that follows', async (t) => {
    const headers = { authorization: `Bearer ${admin}` };
    const open = () => http.get(`${service.base}${path}`, { headers, agent: false }).on('error', () => undefined);
    // They hold the slots, as they are not read.
    const unread = Array.from({ length: limits.largePagesMax }, open);
    t.after(() => {
      for (const request of unread) request.destroy();
    });
    await Promise.all(unread.map((request) => once(request, 'response')));
    const ids: string[] = [];
    for (let cursor = ''; ; ) {
      const { status, body } = await service.as(admin).get(`${path}&after=${cursor}`);
      assert.equal(status, 200);
      assert.ok(body.data.length <= 1);
      ids.push(...body.data.map(({ id }: { id: string }) => id));
      cursor = body.cursor;
      if (!body.has_more) break;
    }
    assert.deepEqual(
      ids,
      messages.map(({ id }) => id),
    );
  });

  itOnOneEngine(engine, '200: many readers at once get pages, or 503 with Retry-After', async () => {
    const responses = await Promise.all(Array.from({ length: 20 }, () => service.as(admin).get(path)));
    const [first] = responses.filter(({ status }) => status === 200);
    assert.ok((first?.body.data.length ?? 0) > 0);
    for (const { status, headers } of responses) assert.ok(status === 200 || headers['retry-after'] !== undefined);
  });
});
