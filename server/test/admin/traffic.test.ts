import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { setImmediate as nextTick } from 'node:timers/promises';
import { Traffic } from '../../src/http/observe/traffic.ts';
import { makeTwoTenants, useService } from '../support/harness.ts';
import { onlyWorker } from '../support/workers/state.ts';

type Interval = {
  at: number;
  requests: number;
  client_errors: number;
  server_errors: number;
  p50: number | null;
  p90: number | null;
  p99: number | null;
};
const counts = ({ requests, client_errors, server_errors }: Interval) => [requests, client_errors, server_errors];

describe('traffic of the last hour', () => {
  const { one, admin, records } = makeTwoTenants();
  const models = '/v1/workspaces/current/models/model-types/llm';
  const service = useService('sqlite', records);
  before(async () => {
    service.freezeClock();
  });
  /** Waits until so many requests are logged: the server counts and logs a request after its client got the response. */
  const waitForRequests = async (requests: number) => {
    const lines = () => service.logs.filter((line) => /"route":"\/(?:v1\/|admin\/records)/.test(line)).length;
    while (lines() < requests) await nextTick();
  };
  const readTraffic = async (): Promise<Interval[]> => {
    const { status, body } = await service.as(admin).get('/admin/traffic');
    assert.equal(status, 200);
    assert.equal(body.interval_seconds, 10);
    return body.data;
  };

  it('200: all complete intervals of an hour are listed, also those without requests', async () => {
    const data = await readTraffic();
    assert.equal(data.length, 360);
    for (const [index, interval] of data.entries()) {
      assert.equal(interval.at % 10, 0);
      assert.equal(interval.at, (data[0]?.at ?? 0) + index * 10);
      assert.deepEqual(counts(interval), [0, 0, 0]);
      assert.deepEqual([interval.p50, interval.p90, interval.p99], [null, null, null]);
    }
  });

  it('200: requests to /v1, to records and to no route are listed for an hour once their interval is over; others are not', async () => {
    const page = `/v1/messages?conversation_id=${one.ids.conversation}`;
    const statuses: number[] = [];
    const send = async (path: string, key?: string) => statuses.push((await service.as(key).get(path)).status);
    for (const path of ['/unknown', '/health/live', '/admin/keys', '/metrics', '/docs']) await send(path, admin);
    statuses.length = 0;
    await send(page, one.keys.app);
    await send(models, one.keys.app);
    await send('/admin/records', admin);
    await send(models, 'x');
    await send(`${page}&first_id=x`, one.keys.app);
    assert.deepEqual(statuses, [200, 200, 200, 401, 404]);
    await waitForRequests(5);
    assert.ok(
      (await readTraffic()).every(({ requests }) => requests === 0),
      'not before the interval is over',
    );
    service.advanceClock(10);
    const last = (await readTraffic()).at(-1) ?? assert.fail();
    assert.deepEqual(counts(last), [6, 3, 0]);
    const { p50, p90, p99 } = last;
    assert.ok(p50 !== null && p90 !== null && p99 !== null && p50 > 0 && p50 <= p90 && p90 <= p99);
    service.advanceClock(3_590);
    assert.deepEqual(counts((await readTraffic())[0] ?? assert.fail()), [6, 3, 0]);
    service.advanceClock(10);
    assert.ok(
      (await readTraffic()).every(({ requests }) => requests === 0),
      'no longer listed',
    );
  });

  it('200: server errors are counted separately', async () => {
    const { apps } = service.store;
    const { listModelEntries } = apps;
    apps.listModelEntries = () => Promise.reject(new Error('an internal error'));
    assert.equal((await service.as(one.keys.app).get(models)).status, 500);
    apps.listModelEntries = listModelEntries;
    await waitForRequests(6);
    service.advanceClock(10);
    assert.deepEqual(counts((await readTraffic()).at(-1) ?? assert.fail()), [1, 0, 1]);
  });

  it('percentiles are accurate to about 10 percent, from 50 µs to a minute', () => {
    let now = 1_000_000_000_000;
    for (const scale of [0.0001, 0.003, 0.08, 1.7, 30]) {
      const traffic = new Traffic(() => now, onlyWorker());
      // Spread over a power of two, in no particular order.
      const seconds = Array.from({ length: 1_000 }, (_, at) => (scale / 2) * 2 ** (((at * 7) % 1_000) / 1_000));
      for (const one of seconds) traffic.add(200, one);
      now += 10_000;
      const last = traffic.lastHour().data.at(-1);
      const sorted = seconds.toSorted((one, other) => one - other);
      for (const [name, share] of [
        ['p50', 0.5],
        ['p90', 0.9],
        ['p99', 0.99],
      ] as const) {
        const exact = (sorted[Math.ceil(share * 1_000) - 1] ?? 0) * 1000;
        assert.ok(Math.abs((last?.[name] ?? 0) / exact - 1) < 0.1, `${name}: ${last?.[name]} of ${exact}`);
      }
    }
  });

  it('invalid durations and a clock that is set back are handled', () => {
    let now = 1_000_000_000_000;
    const traffic = new Traffic(() => now, onlyWorker());
    for (const seconds of [0, -1, Number.NaN, 1e9, Number.POSITIVE_INFINITY]) traffic.add(200, seconds);
    traffic.add(503, undefined);
    now += 10_000;
    const last = traffic.lastHour().data.at(-1);
    assert.deepEqual(last && [counts(last), last.p50, last.p99 && last.p99 > 50_000], [[6, 0, 1], 0.0459, true]);
    now -= 3_600_000 * 5;
    traffic.add(404, 1);
    now += 10_000;
    const { data } = traffic.lastHour();
    assert.deepEqual(
      data.filter(({ requests }) => requests > 0).map((interval) => counts(interval)),
      [[1, 1, 0]],
    );
  });
});
