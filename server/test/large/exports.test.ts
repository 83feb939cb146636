import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import { it, mock } from 'node:test';
import pg from 'pg';
import { limits } from '../../src/contract/limits.ts';
import type { Opened } from '../../src/domain/large-text.ts';
import { makeTwoTenants, message, onEveryEngine, parseLines, useService } from '../support/harness.ts';
import { until } from '../support/until.ts';

const mebibyte = 2 ** 20;
/** More than the sockets of a connection can buffer. */
const largeCount = 24;

onEveryEngine('exports of large records', (engine) => {
  const { one, admin, records } = makeTwoTenants();
  const messages = Array.from({ length: 120 + largeCount }, (_, n) =>
    message(one.ids.conversation, 1_000 + n, { answer: n < 120 ? 'small' : 'x'.repeat(mebibyte) }),
  );
  const service = useService(engine, [...records, ...messages]);

  const never = new AbortController().signal;
  const selection = { app_id: one.ids.app };
  const exports: Record<string, () => Promise<Opened<Uint8Array | object[]>>> = {
    everything: () => service.store.exports.all(undefined, never),
    'an app': () => service.store.exports.selected(selection, ['message'], never),
    'messages for CSV': () => service.store.exports.messages(selection, never),
  };
  for (const [name, open] of Object.entries(exports))
    it(`memory has a few large records at most, also after many small ones: ${name}`, async () => {
      let largest = 0;
      const { chunks, close } = await open();
      for await (const chunk of chunks) {
        const bytes = chunk instanceof Uint8Array ? chunk.length : JSON.stringify(chunk).length;
        largest = Math.max(largest, bytes);
      }
      close();
      assert.ok(largest > mebibyte && largest < limits.pageBytesMax, `${largest} bytes`);
    });

  it('200: every record once, in order', async () => {
    const { text } = await service.as(admin).get('/admin/records?kinds=message');
    const lines = parseLines(text);
    assert.deepEqual(
      lines.map(({ id, answer }) => [id, answer.length]),
      messages.map(({ id, answer }) => [id, answer.length]),
    );
    const selected = await service.as(admin).get(`/admin/records?kinds=message&app_id=${one.ids.app}`);
    assert.ok(selected.text === text, 'the same lines');
    const csv = await service.as(admin).get(`/admin/messages.csv?app_id=${one.ids.app}`);
    assert.deepEqual(
      csv.text
        .trimEnd()
        .split('\r\n')
        .slice(1)
        .map((row) => row.split(',')[1]),
      messages.map(({ id }) => id),
    );
  });

  it('a reader that reads nothing is disconnected: its slot, its transaction and its connection are free', async (t) => {
    mock.timers.enable({ apis: ['setInterval'] });
    t.after(() => mock.timers.reset());
    const headers = { authorization: `Bearer ${admin}` };
    const paths = ['/admin/records', `/admin/records?app_id=${one.ids.app}`];
    const unread = await Promise.all(
      Array.from({ length: limits.largePagesMax }, async (_, at) => {
        const request = http.get(`${service.base}${paths[at % paths.length]}`, { headers, agent: false });
        t.after(() => request.destroy());
        const [response] = (await once(request, 'response')) as [http.IncomingMessage];
        assert.equal(response.statusCode, 200);
        return response;
      }),
    );
    const cut = unread.map((response) => once(response, 'close').catch((error: Error) => error));
    for (const response of unread) response.on('error', () => undefined);
    const aborted = () => service.logs.filter((line) => line.includes('"aborted":true')).length;
    await until(() => {
      mock.timers.tick(limits.slowReaderMillis);
      return aborted() === unread.length;
    });
    for (const response of unread) response.resume();
    await Promise.all(cut);
    if (engine === 'postgres') {
      const client = new pg.Client(service.config.database_url);
      await client.connect();
      const open = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle in transaction'`;
      await until(async () => (await client.query(open)).rows.length === 0);
      await client.end();
    }
    const { status } = await service.as(admin).get('/admin/records?kinds=workspace');
    assert.equal(status, 200);
  });
});
