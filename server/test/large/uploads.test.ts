import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import http from 'node:http';
import { it } from 'node:test';
import { unfinishedBytesMax } from '../../src/domain/unfinished-input.ts';
import { makeTwoTenants, message, ndjson, startService } from '../support/harness.ts';
import { until } from '../support/until.ts';

const threads = () => (process.platform === 'linux' ? readdirSync('/proc/self/task').length : 0);

it('503: too many large records arrive at the same time, while small ones are stored', async (t) => {
  const { one, records } = makeTwoTenants();
  const service = await startService('sqlite');
  t.after(() => service.close());
  await service.load(records);
  const append = (at: number, answer: string) => ndjson([message(one.ids.conversation, at, { answer })]);
  const whole = Buffer.from(append(0, 'a'.repeat(200_000)));
  const begun = Buffer.from(append(1, 'a'.repeat(4_000_000))).subarray(0, -9);
  const threadsBefore = threads();
  const uploads = Array.from({ length: Math.ceil(unfinishedBytesMax / begun.length) + 1 }, () => {
    const headers = { authorization: `Bearer ${one.keys.writer}`, 'content-type': 'application/x-ndjson' };
    const sent = http.request(`${service.base}/admin/records`, { method: 'POST', agent: false, headers });
    const status = new Promise<number>((resolve, reject) => {
      sent.once('response', (response) => resolve(response.resume().statusCode ?? 0)).once('error', reject);
    });
    sent.write(whole);
    sent.write(begun);
    return { sent, status };
  });
  await until(() => uploads.every(({ sent }) => sent.socket?.writableLength === 0));
  assert.ok(threads() - threadsBefore < 10, 'each upload has started threads');
  const small = await service
    .as(one.keys.writer)
    .post('/admin/records', append(2, 'small'), { 'content-type': 'application/x-ndjson' });
  assert.equal(small.status, 200);
  for (const { sent } of uploads) sent.end();
  const statuses = await Promise.all(uploads.map(({ status }) => status));
  assert.ok(statuses.includes(503), `${statuses}`);
  assert.ok(statuses.every((status) => status === 503 || status === 400));
});
