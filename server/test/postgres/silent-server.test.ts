import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { FaultyPostgres } from '../support/faulty-postgres.ts';
import { makeTwoTenants, message, type Service, startService } from '../support/harness.ts';
import { until } from '../support/until.ts';

const timeoutMillis = 4_000;

/** It accepts connections, and nothing responds. */
describe('a PostgreSQL server that hangs', () => {
  const { one, records } = makeTwoTenants();
  let server: FaultyPostgres;
  let service: Service;

  before(async () => {
    server = await FaultyPostgres.make();
    await server.start();
    const settings = { DATABASE_TIMEOUT: `${timeoutMillis}`, DATABASE_POOL: '2' };
    service = await startService('postgres', settings, await server.newDatabase());
    await service.load([...records, message(one.ids.conversation, 1)]);
  });
  after(async () => {
    server?.signalAll('SIGCONT');
    await service?.close();
    await server?.remove();
  });

  const page = () =>
    service.request('GET', `/v1/messages?conversation_id=${one.ids.conversation}`, { key: one.keys.app });

  it('503: no request waits longer than DATABASE_TIMEOUT, the wait for a connection included', async () => {
    assert.equal((await page()).status, 200);
    server.signalAll('SIGSTOP');
    const requests = Array.from({ length: 8 }, async () => {
      const start = performance.now();
      const { status, headers } = await page();
      assert.equal(status, 503);
      assert.match(headers['retry-after'] ?? '', /^[1-9]/);
      return performance.now() - start;
    });
    const slowest = Math.max(...(await Promise.all(requests)));
    assert.ok(slowest < 1.8 * timeoutMillis, `${slowest} ms`);
  });

  it('503 at once, from the first timeout on', async () => {
    const start = performance.now();
    // If each of them waited, they would take minutes.
    for (let times = 0; times < 50; times += 1) {
      assert.equal((await page()).status, 503);
      assert.equal((await service.request('GET', '/health/ready')).status, 503);
    }
    const millis = performance.now() - start;
    assert.ok(millis < 5 * timeoutMillis, `${millis} ms`);
  });

  it('200 again when it responds', async () => {
    server.signalAll('SIGCONT');
    await until(async () => (await page()).status === 200);
    assert.equal((await service.request('GET', '/health/ready')).status, 200);
  });
});
