import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import { it } from 'node:test';
import { install } from '../../../experiments/support/installation.ts';
import { limits } from '../../src/contract/limits.ts';
import { newScope, serve } from '../support/cli-helpers.ts';
import { message } from '../support/harness.ts';
import { describeLong } from '../support/long.ts';
import { until } from '../support/until.ts';

/** More than the sockets of a connection can buffer: a page that is not read stays open. */
const messageCount = 24;
const mebibyte = 2 ** 20;
const connections = 40;

describeLong('large responses of several workers', () => {
  for (const workers of [3, 6])
    it(`503: ${workers} workers serve at most ${limits.largePagesMax} large pages at once, together`, async (t) => {
      const scope = newScope();
      t.after(scope.end);
      const { cwd, env, one, admin } = await install(scope, { chunks: 0 });
      const { base, output } = await serve(scope, { cwd, env: { ...env, WORKERS: `${workers}` } });
      await until(() => (output().match(/listening at/g)?.length ?? 0) >= workers, output);
      const messages = Array.from({ length: messageCount }, (_, n) =>
        message(one.ids.conversation, 1_000 + n, { answer: 'x'.repeat(mebibyte) }),
      );
      const headers = { authorization: `Bearer ${admin}`, 'content-type': 'application/x-ndjson' };
      for (const record of messages) {
        const { status } = await fetch(`${base}/admin/records`, {
          method: 'POST',
          headers,
          body: JSON.stringify(record),
        });
        assert.equal(status, 200);
      }

      const unread: http.IncomingMessage[] = [];
      const begin = async (): Promise<number> => {
        const request = http.get(`${base}/v1/messages?conversation_id=${one.ids.conversation}&user=ann&limit=100`, {
          headers: { authorization: `Bearer ${one.keys.app}` },
          agent: false,
        });
        const [response] = (await once(request, 'response')) as [http.IncomingMessage];
        if (response.statusCode === 200) unread.push(response);
        else response.resume();
        return response.statusCode ?? 0;
      };
      t.after(() => {
        for (const response of unread) response.destroy();
      });
      const statuses = await Promise.all(Array.from({ length: connections }, begin));
      assert.deepEqual([...new Set(statuses)].sort(), [200, 503]);
      assert.equal(unread.length, limits.largePagesMax);
      // The operating system distributes the connections: enough workers have one for this test to mean something.
      const metrics = await (await fetch(`${base}/metrics`, { headers })).text();
      const used = metrics.match(/^backscroll_worker_requests_total\{worker="\d+"\} [1-9]/gm) ?? [];
      assert.ok(used.length > 2, metrics);
      assert.ok(used.length * Math.ceil(limits.largePagesMax / workers) > limits.largePagesMax);

      const waiting = begin();
      unread[0]?.destroy();
      assert.equal(await waiting, 200);
    });
});
