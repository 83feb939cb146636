import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import http from 'node:http';
import { it } from 'node:test';
import pg from 'pg';
import { limits } from '../../src/contract/limits.ts';
import {
  itOnOneEngine,
  makeTwoTenants,
  message,
  onEveryEngine,
  pluck,
  type Service,
  startService,
  useService,
} from '../support/harness.ts';
import { until } from '../support/until.ts';

const inFlightMax = 50;
const lines = 'application/x-ndjson';
const events = 'text/event-stream';

/** An open response whose body is read as it comes. */
class OpenResponse {
  text = '';
  readonly message: http.IncomingMessage;
  readonly ended: Promise<unknown>;

  private constructor(message: http.IncomingMessage) {
    this.message = message;
    this.ended = once(message, 'end');
    message.setEncoding('utf8').on('data', (chunk: string) => {
      this.text += chunk;
    });
  }

  static async open(service: Service, query: Record<string, string>, key: string, accept = 'application/json') {
    const headers = { authorization: `Bearer ${key}`, accept };
    const request = http.get(`${service.base}/admin/changes?${new URLSearchParams(query)}`, { headers, agent: false });
    const [message] = (await once(request, 'response')) as [http.IncomingMessage];
    return new OpenResponse(message);
  }

  // biome-ignore lint/suspicious/noExplicitAny: tests read responses freely
  async json(): Promise<any> {
    await this.ended;
    return JSON.parse(this.text);
  }
}

onEveryEngine('readers that wait for changes', (engine) => {
  const { one, admin, records } = makeTwoTenants();
  const feed = one.keys.feed;

  const service = useService(engine, records, { IN_FLIGHT_MAX: `${inFlightMax}` });

  const get = (query: Record<string, string>, options: object = { key: admin }) =>
    service.request('GET', `/admin/changes?${new URLSearchParams(query)}`, options);
  const now = async () => (await get({ after: 'now' })).body.cursor as string;
  const edit = (content = randomUUID()) => service.as(one.keys.knowledge).patch(one.chunkPath, { content });
  const untilWaiting = (count: number) => until(async () => (await metric('backscroll_changes_waiting')) === count);
  const metric = async (name: string) => {
    const { text } = await service.as(admin).get('/metrics');
    return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1]);
  };

  itOnOneEngine(engine, 'are at most 200, apart from IN_FLIGHT_MAX, then 503 with Retry-After', async () => {
    const cursor = await now();
    const waiting: Promise<OpenResponse>[] = [];
    while (waiting.length < limits.waitingMax) {
      for (let n = 0; n < inFlightMax / 2; n += 1) {
        waiting.push(OpenResponse.open(service, { after: cursor, wait: '60' }, admin));
      }
      await untilWaiting(waiting.length);
    }
    assert.equal(await metric('backscroll_http_requests_in_flight'), 1, 'the one for metrics');
    for (const accept of ['application/json', lines, events]) {
      const { status, body, headers } = await get({ after: cursor, wait: '60' }, { key: admin, headers: { accept } });
      assert.deepEqual([status, body.code], [503, 'service_unavailable'], accept);
      assert.match(headers['retry-after'] ?? '', /^\d+$/);
    }
    assert.equal((await get({ after: cursor })).status, 200, 'a request that does not wait is served');
    await edit();
    for (const response of await Promise.all(waiting)) {
      const { data } = await response.json();
      assert.deepEqual(pluck(data, 'id'), [one.ids.chunk]);
    }
    await untilWaiting(0);
  });

  it('get entries as they come, and heartbeats when there are none; a revoked key ends a stream', async () => {
    service.freezeClock();
    const query = { after: await now(), wait: '60' };
    const secret = await service.as(admin).post('/admin/keys', { kind: 'feed', workspace_id: one.ids.workspace });
    const opening = [
      OpenResponse.open(service, query, feed, lines),
      OpenResponse.open(service, query, feed, events),
      OpenResponse.open(service, query, secret.body.secret, lines),
    ];
    // The headers come at once, with a first heartbeat: no other one can be due.
    const [ndjson, sse, revoked] = await Promise.all(opening);
    assert.ok(ndjson !== undefined && sse !== undefined && revoked !== undefined);
    await until(() => ndjson.text === '\n' && sse.text === ':\n\n' && revoked.text === '\n');
    await untilWaiting(3);
    await edit();
    await until(() => [ndjson, sse, revoked].every(({ text }) => text.includes('{') && text.endsWith('\n')));
    assert.equal(ndjson.message.headers['content-type'], lines);
    assert.equal(sse.message.headers['content-type'], events);
    for (const { message } of [ndjson, sse]) assert.equal(message.headers['cache-control'], 'no-store');
    const entry = JSON.parse(ndjson.text);
    assert.equal(entry.id, one.ids.chunk);
    assert.match(sse.text, /^:\n\nid: \S+\ndata: \{.*\}\n\n/);
    const poll = OpenResponse.open(service, { after: await now(), wait: '60' }, secret.body.secret);
    await untilWaiting(4);
    assert.equal((await service.as(admin).delete(`/admin/keys/${secret.body.id}`)).status, 200);
    service.advanceClock(15);
    await revoked.ended;
    assert.equal((await poll).message.statusCode, 401);
    await until(() => ndjson.text.endsWith('\n\n') && sse.text.endsWith('\n\n:\n\n'));
    for (const { message } of [ndjson, sse]) message.destroy();
    await untilWaiting(0);
  });

  it('see only what their key allows now, also if it was changed while they wait', async () => {
    const { workspace: workspace_id, dataset, chunk } = one.ids;
    const other = { record: 'dataset', id: randomUUID(), workspace_id, name: 'other' };
    const secret = `feed-${randomUUID()}`;
    const key = { record: 'api_key', id: randomUUID(), kind: 'feed', workspace_id, name: 'datasets', secret };
    await service.load([other, { ...key, dataset_ids: [dataset, other.id] }]);
    const query = { after: await now(), wait: '60' };
    const opening = [OpenResponse.open(service, query, secret, lines), OpenResponse.open(service, query, secret)];
    await untilWaiting(2);
    await service.load([{ ...key, dataset_ids: [other.id] }]);
    service.advanceClock(6);
    await service.load([{ ...other, name: 'renamed' }]);
    const [stream, poll] = await Promise.all(opening);
    assert.ok(stream !== undefined && poll !== undefined);
    assert.deepEqual([poll.message.statusCode, (await poll.json()).data[0].id], [200, other.id]);
    assert.equal((await edit()).status, 200);
    await service.load([{ ...other, name: 'renamed again' }]);
    await until(() => stream.text.includes('renamed again'));
    assert.ok(!stream.text.includes(chunk), 'a chunk that the key no longer allows');
    stream.message.destroy();
    await untilWaiting(0);
  });

  itOnOneEngine(engine, 'end when the service stops', async () => {
    const stopping = await startService(engine);
    await stopping.load(records);
    const opening = [lines, events, 'application/json'].map((accept) =>
      OpenResponse.open(stopping, { after: 'now', wait: '60' }, admin, accept),
    );
    await until(async () => {
      const { text } = await stopping.as(admin).get('/metrics');
      return text.includes('backscroll_changes_waiting 3\n');
    });
    await stopping.close();
    for (const response of await Promise.all(opening)) {
      await response.ended;
      assert.equal(response.message.statusCode, 200);
    }
  });

  itOnOneEngine(engine, 'are no error in the log when they disconnect', async () => {
    const before = service.logs.length;
    const headers = { authorization: `Bearer ${admin}` };
    const path = `/admin/changes?${new URLSearchParams({ after: await now(), wait: '60' })}`;
    const request = http.get(`${service.base}${path}`, { headers, agent: false }).on('error', () => undefined);
    await untilWaiting(1);
    request.destroy();
    await edit();
    await untilWaiting(0);
    const lines = () => service.logs.slice(before).map((line) => JSON.parse(line));
    await until(() => lines().some(({ aborted }) => aborted));
    assert.deepEqual(
      lines().filter(({ level }) => level >= 50),
      [],
    );
  });

  it('are told that their cursor is invalid when a new epoch begins', async () => {
    const query = { after: await now(), wait: '60' };
    const poll = OpenResponse.open(service, query, admin);
    await untilWaiting(1);
    await service.store.changes.startEpoch();
    const response = await poll;
    assert.equal(response.message.statusCode, 410);
    assert.equal((await response.json()).code, 'cursor_gone');
    assert.equal((await get(query)).status, 410);
    assert.equal((await get({})).status, 200);
  });
});

onEveryEngine('pages of the change feed', (engine) => {
  const { one, other, admin, records } = makeTwoTenants();

  const service = useService(engine, records);

  const get = (query: Record<string, string | number>, key = admin) =>
    service
      .as(key)
      .get(`/admin/changes?${new URLSearchParams(Object.entries(query).map(([name, value]) => [name, `${value}`]))}`);

  it('move the cursor past entries that the reader does not see', async () => {
    const start = (await get({ after: 'now' })).body.cursor;
    await service.load([message(other.ids.conversation, 5)]);
    for (const [query, key] of [
      [{ kinds: 'child_chunk' }, admin],
      [{}, one.keys.feed],
      [{ app_id: one.ids.app }, admin],
    ] as const) {
      const { body } = await get({ ...query, after: start }, key);
      assert.deepEqual([body.data, body.has_more], [[], false]);
      assert.notEqual(body.cursor, start);
      assert.deepEqual((await get({ after: body.cursor })).body.data, []);
    }
  });

  it('list entries behind more rows of others than one statement reads', async () => {
    const start = (await get({ after: 'now' })).body.cursor;
    const many = Array.from({ length: limits.changesBatchMax + 10 }, (_, n) => message(other.ids.conversation, n));
    const own = [message(one.ids.conversation, 1), message(one.ids.conversation, 2)];
    await service.load([...many, ...own]);
    const seen: string[] = [];
    for (let after = start; ; ) {
      const { body } = await get({ after, app_id: one.ids.app, limit: 1 });
      seen.push(...body.data.map(({ id }: { id: string }) => id));
      if (seen.length === 1) assert.equal(body.has_more, true);
      after = body.cursor;
      if (!body.has_more) break;
    }
    assert.deepEqual(
      seen,
      own.map(({ id }) => id),
    );
  });

  it('end at 8 MiB, counted in bytes, and have at least one entry', async () => {
    const start = (await get({ after: 'now' })).body.cursor;
    const large = Array.from({ length: 3 }, (_, n) =>
      message(one.ids.conversation, 100 + n, { answer: '字'.repeat(1_000_000) }),
    );
    await service.load(large);
    const sizes: number[] = [];
    for (let after = start; ; ) {
      const { body, text } = await get({ after });
      assert.ok(Buffer.byteLength(text) <= limits.changesBytesMax + 10_000);
      sizes.push(body.data.length);
      after = body.cursor;
      if (!body.has_more) break;
    }
    assert.deepEqual(sizes, [2, 1]);
  });

  itOnOneEngine(engine, 'have no records with include=none, no body with HEAD, and are not cached', async () => {
    const { body, headers } = await get({ include: 'none', kinds: 'message' });
    assert.ok(body.data.length > 0);
    for (const { record, gone } of body.data) assert.deepEqual([record, gone], [null, false]);
    assert.equal(headers['cache-control'], 'no-store');
    for (const accept of ['application/json', lines, events]) {
      const path = '/admin/changes?wait=60';
      const head = await service.request('HEAD', path, { key: admin, headers: { accept } });
      assert.deepEqual([head.status, head.text], [200, '']);
      assert.ok(head.headers['content-type']?.startsWith(accept));
      assert.equal(head.headers['cache-control'], 'no-store');
    }
  });

  if (engine === 'postgres') {
    it('/metrics leaves out the feed while the database does not respond', async () => {
      const head = /^backscroll_changes_head \d+$/m;
      const scrape = () => service.as(admin).get('/metrics');
      assert.match((await scrape()).text, head);
      const client = new pg.Client(service.config.database_url);
      await client.connect();
      await client.query('BEGIN; LOCK TABLE changes_head IN ACCESS EXCLUSIVE MODE');
      const { status, text } = await scrape();
      await client.end();
      assert.equal(status, 200);
      assert.doesNotMatch(text, head);
      assert.match(text, /^backscroll_http_requests_in_flight 1$/m);
      await until(async () => head.test((await scrape()).text));
    });
  }

  itOnOneEngine(engine, 'are read by a session of the console, and by no other key', async () => {
    const signedIn = await service.request('POST', '/console/session', { body: { key: admin } });
    const cookie = signedIn.headers['set-cookie']?.[0]?.split(';')[0] ?? '';
    const { status } = await service.request('GET', '/admin/changes', {
      headers: { cookie, 'backscroll-console': '1' },
    });
    assert.equal(status, 200);
    for (const key of [one.keys.app, one.keys.knowledge, one.keys.writer])
      assert.equal((await get({}, key)).status, 401);
  });
});
