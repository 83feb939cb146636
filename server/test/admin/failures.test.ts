import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { setImmediate as nextTick } from 'node:timers/promises';
import { type Failure, Failures } from '../../src/http/observe/failures.ts';
import {
  makeTwoTenants,
  newDatabaseWith,
  onEveryEngine,
  pluck,
  type Service,
  startService,
  useService,
} from '../support/harness.ts';
import { newWorkers } from '../support/workers/state.ts';
import { exchange, ScriptedUpstream } from '../upstream/scripted-upstream.ts';

// biome-ignore lint/suspicious/noExplicitAny: rows of a list
type Row = any;

describe('failed requests of the last hour', () => {
  const { one, admin, records } = makeTwoTenants();
  const service = useService('sqlite', records);
  before(async () => {
    service.freezeClock();
  });
  const read = async (): Promise<Row[]> => {
    const { status, body } = await service.as(admin).get('/admin/failures');
    assert.equal(status, 200);
    return body.data;
  };
  /** The server counts and logs a request after its client got the response. */
  const send = async (path: string, key?: string): Promise<string> => {
    const { headers } = await service.as(key).get(path);
    const id = String(headers['x-request-id']);
    while (!service.logs.some((line) => line.includes(id))) await nextTick();
    return id;
  };

  it('200: counted by status, route and key, with the name of the key, the last time and its request id', async () => {
    assert.deepEqual(await read(), []);
    const page = `/v1/messages?conversation_id=${one.ids.conversation}`;
    await send(page, one.keys.app);
    await send(page);
    await send(`${page}&first_id=x`, one.keys.app);
    service.advanceClock(60);
    const request_id = await send(`${page}&first_id=y`, one.keys.app);
    const unmatchedId = await send('/unknown?user=x', one.keys.app);
    const rows = await read();
    const unauthorized = rows.find(({ status }) => status === 401);
    assert.deepEqual(
      [unauthorized.route, unauthorized.key_id, unauthorized.key_name, unauthorized.count],
      ['/v1/messages', null, null, 1],
    );
    const missing = rows.find(({ status, route }) => status === 404 && route === '/v1/messages');
    assert.deepEqual(missing, {
      ...{ status: 404, method: 'GET', route: '/v1/messages', key_id: one.keyIds.app, key_name: 'app', count: 2 },
      ...{ first_at: unauthorized.last_at, last_at: unauthorized.last_at + 60, request_id },
      ...{ code: 'not_found', message: 'first message not exists' },
    });
    const unmatched = rows.find(({ route }) => route === 'unmatched');
    assert.deepEqual([unmatched.status, unmatched.request_id], [404, unmatchedId]);
    assert.equal(unmatched.message, 'no such route: /unknown');
    assert.equal(rows.length, 3);
  });

  it('200: a failure is no longer listed after an hour', async () => {
    service.advanceClock(3_540);
    assert.deepEqual(pluck(await read(), 'status'), [404, 404]);
    service.advanceClock(60);
    assert.deepEqual(await read(), []);
  });

  it('200: a key of the wrong kind is named, also in the log', async () => {
    const request_id = await send('/v1/messages', one.keys.knowledge);
    const row = (await read()).find(({ key_id }) => key_id === one.keyIds.knowledge);
    const message = 'a key of kind app is required; this key is of kind knowledge';
    assert.deepEqual([row.key_name, row.status, row.code, row.message], ['knowledge', 401, 'unauthorized', message]);
    const line = JSON.parse(service.logs.find((line) => line.includes(request_id)) ?? '');
    assert.deepEqual([line.key_id, line.error, line.message], [one.keyIds.knowledge, 'unauthorized', message]);
  });

  it('200: an error response of the upstream is said to be one, with its path, which is not logged', async (t) => {
    const upstream = await new ScriptedUpstream().listen();
    upstream.script = (socket) => void socket.write('HTTP/1.1 400 No\r\nContent-Length: 2\r\n\r\nno');
    const front = await startService('sqlite', { UPSTREAM_URL: upstream.url });
    t.after(async () => {
      await front.close();
      await upstream.close();
    });
    await front.load(records);
    const { status, headers } = await exchange(front.base, 'POST', '/v1/chat-messages?x', {
      headers: { authorization: `Bearer ${one.keys.app}` },
    });
    assert.equal(status, 400);
    const request_id = headers['x-request-id'];
    const line = () => front.logs.find((text) => text.includes(String(request_id)));
    while (line() === undefined) await nextTick();
    const { message, error } = JSON.parse(line() ?? '');
    assert.deepEqual([message, error], ['response of the upstream', undefined]);
    const { body } = await front.as(admin).get('/admin/failures');
    const [row] = body.data;
    const shown = 'response of the upstream: /v1/chat-messages';
    assert.deepEqual([row.route, row.request_id, row.code, row.message], ['/v1/*', request_id, null, shown]);
  });

  it('200: messages have no secrets, and no texts that a client sent', async () => {
    const secret = `admin-${'x'.repeat(40)}`;
    await send(`/v1/${secret}`);
    const body = { kind: 'app', name: 'x', app_id: `private ${secret}` };
    for (const bad of [body, { ...body, 'private name': 1 }, { ...body, name: { private: 1 } }]) {
      const { headers } = await service.as(admin).post('/admin/keys', bad);
      const id = String(headers['x-request-id']);
      while (!service.logs.some((line) => line.includes(id))) await nextTick();
      const { message } = (await read()).find(({ request_id }) => request_id === id);
      assert.match(message, /^(app \.\.\. does not exist|a field is not known|name must be)/);
    }
    const all = JSON.stringify(await read()) + service.logs.join('');
    assert.ok(!all.includes(secret) && !all.includes('private'));
  });
});

onEveryEngine('failed requests by key', (engine) => {
  it('200: of the last 24 hours, to all instances, in the list and in the metrics', async (t) => {
    const { one, admin, records } = makeTwoTenants();
    const database = await newDatabaseWith(engine, records);
    const first = await startService(engine, { UPSTREAM_URL: 'http://127.0.0.1:9/v1' }, database.url);
    const second = await startService(engine, {}, database.url);
    t.after(async () => {
      await Promise.all([first.close(), second.close()]);
      await database.remove();
    });
    for (const service of [first, second]) service.freezeClock();
    const fail = async (service: Service, status: number, key?: string) => {
      const before = service.logs.length;
      assert.equal((await service.as(key).get('/v1/unknown')).status, status);
      while (service.logs.length === before) await nextTick();
      await service.saveUses();
    };
    const read = async () => (await first.as(admin).get('/admin/failures')).body.by_key;
    // Those of the console are not errors of a client.
    const { headers } = await first.request('POST', '/console/session', {
      ...{ body: { key: admin }, headers: { 'backscroll-console': '1' } },
    });
    const cookie = headers['set-cookie']?.[0]?.split(';')[0];
    assert.equal(
      (await first.request('GET', '/admin/overview?days=x', { headers: { cookie, 'backscroll-console': '1' } })).status,
      400,
    );
    while (!first.logs.some((line) => line.includes('"status":400'))) await nextTick();
    await first.saveUses();
    assert.deepEqual(await read(), []);
    const ofKey = { key_id: one.keyIds.app, key_name: 'app' };
    await fail(first, 502, one.keys.app);
    await fail(first, 401);
    first.advanceClock(20 * 3_600);
    second.advanceClock(20 * 3_600);
    const wrongKind = await second.as(one.keys.app).get(one.chunkPath);
    assert.equal(wrongKind.status, 401);
    while (!second.logs.some((line) => line.includes('"status":401'))) await nextTick();
    await second.saveUses();
    const [both] = await read();
    const [{ at }] = both.hours;
    assert.equal(at % 3_600, 0);
    const [failed, rejected] = [
      { at, client_errors: 0, server_errors: 1 },
      { at: at + 20 * 3_600, client_errors: 1, server_errors: 0 },
    ];
    assert.deepEqual(both, { ...ofKey, client_errors: 1, server_errors: 1, hours: [failed, rejected] });
    const metrics = (await second.as(admin).get('/metrics')).text;
    const labels = `key_id="${one.keyIds.app}",key="app",status=`;
    for (const status of ['4xx', '5xx'])
      assert.ok(metrics.includes(`\nbackscroll_key_errors_24h{${labels}"${status}"} 1\n`), metrics);
    first.advanceClock(5 * 3_600);
    assert.deepEqual(await read(), [{ ...ofKey, client_errors: 1, server_errors: 0, hours: [rejected] }]);
    await first.store.run('trimKeyRequests', Number.MAX_SAFE_INTEGER);
    assert.deepEqual(await read(), []);
  });
});

describe('counts of failures', () => {
  const failure: Failure = { status: 404, method: 'GET', route: '/v1/messages', key_id: 'k' };
  const last = (request_id: string) => ({ request_id, code: 'not_found', message: 'x' });
  let now = 1_000_000_000_000;
  const clock = () => now;
  const open = (workers: number) => {
    return newWorkers(workers).contexts.map((context) => new Failures(clock, context));
  };

  it('are those of all workers together', () => {
    const [one, other] = open(2) as [Failures, Failures];
    one.add(failure, last('r1'));
    now += 5;
    other.add(failure, last('r2'), 3);
    now += 5;
    one.add({ ...failure, status: 500, key_id: null }, last('r3'));
    const expected = [
      { ...failure, status: 500, key_id: null, count: 1, first: now, last: now, ...last('r3') },
      { ...failure, count: 4, first: now - 10, last: now - 5, ...last('r2') },
    ];
    assert.deepEqual(one.recent(), expected);
    assert.deepEqual(other.recent(), expected);
  });

  it('start again after an hour without such a failure', () => {
    const [one] = open(1) as [Failures];
    one.add(failure, last('r1'));
    now += 3_599_999;
    one.add(failure, last('r2'));
    assert.equal(one.recent()[0]?.count, 2);
    now += 3_600_000;
    assert.deepEqual(one.recent(), []);
    one.add(failure, last('r3'));
    assert.deepEqual(one.recent(), [{ ...failure, count: 1, first: now, last: now, ...last('r3') }]);
  });

  it('are of the latest kinds if there are many, and of long texts too', () => {
    const [one] = open(1) as [Failures];
    one.add(failure, last('first'));
    for (let at = 0; at < 500; at += 1) {
      now += 1;
      if (at % 50 === 0) one.add(failure, last(`r${at}`));
      one.add({ ...failure, key_id: `k${at}` }, last('r'));
    }
    const rows = one.recent();
    assert.equal(rows.length, 200);
    assert.deepEqual([rows[0]?.key_id, rows.find(({ key_id }) => key_id === 'k')?.count], ['k499', 11]);
    now += 1;
    one.add({ ...failure, key_id: '\u{1f600}'.repeat(300) }, last('x'.repeat(128)));
    assert.deepEqual([one.recent()[0]?.key_id, one.recent()[0]?.request_id], [null, 'x'.repeat(128)]);
  });
});
