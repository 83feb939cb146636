import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import net from 'node:net';
import { describe, it } from 'node:test';
import { makeSecret } from '../../src/domain/secret.ts';
import { Outages } from '../../src/http/request/errors.ts';
import { WindowCounter } from '../../src/http/workers/window-counter.ts';
import {
  makeTwoTenants,
  message,
  ndjson,
  newDatabaseUrl,
  onEveryEngine,
  onOneEngine,
  parseLines,
  type RequestOptions,
  type Service,
  startService,
  useService,
} from '../support/harness.ts';
import { until } from '../support/until.ts';

type Line = Record<string, unknown>;
type Sample = { name: string; labels: Record<string, string>; value: number };

const modelPath = '/v1/workspaces/current/models/model-types/llm';
const modelRoute = '/v1/workspaces/current/models/model-types/:model_type';
const chunkRoute = '/v1/datasets/:dataset_id/documents/:document_id/segments/:segment_id/child_chunks/:child_chunk_id';
const ndjsonHeaders = { 'content-type': 'application/x-ndjson' };

const linesOf = (service: Service): Line[] => parseLines(service.logs.join(''));

/** The log line of one request; it is written after the response was sent. */
async function lineOf(service: Service, id: string): Promise<Line> {
  return until(() => {
    const requestLines = linesOf(service).filter(({ req_id, msg }) => req_id === id && msg === 'request');
    assert.ok(requestLines.length < 2, 'one line per request');
    return requestLines[0];
  });
}

/** Sends a request and waits for its log line; returns both. */
async function requestAndLine(service: Service, method: string, path: string, options: RequestOptions = {}) {
  const response = await service.request(method, path, options);
  return { response, line: await lineOf(service, String(response.headers['x-request-id'])) };
}

/** Parses the Prometheus text format; fails on any invalid line. */
function readMetrics(text: string): { samples: Sample[]; types: Map<string, string> } {
  assert.ok(text.endsWith('\n'), 'the text ends with a line feed');
  const samples: Sample[] = [];
  const types = new Map<string, string>();
  for (const line of text.split('\n')) {
    if (line === '' || /^# HELP [a-zA-Z_:][\w:]* \S/.test(line)) continue;
    const type = /^# TYPE ([a-zA-Z_:][\w:]*) (counter|gauge|histogram|summary|untyped)$/.exec(line);
    if (type) {
      assert.ok(!types.has(String(type[1])), `two types: ${line}`);
      types.set(String(type[1]), String(type[2]));
      continue;
    }
    const sample = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)( \d+)?$/.exec(line) ?? assert.fail(`not a sample: ${line}`);
    const labels = [...(sample[2] ?? '').matchAll(/([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g)];
    const value = sample[3] === '+Inf' ? Number.POSITIVE_INFINITY : Number(sample[3]);
    assert.ok(!Number.isNaN(value) || sample[3] === 'NaN' || sample[3] === 'Nan', line);
    samples.push({
      name: String(sample[1]),
      labels: Object.fromEntries(labels.map(([, name, text]) => [name, text])),
      value,
    });
  }
  return { samples, types };
}

onOneEngine('logs and metrics', (engine) => {
  const { one, admin, records } = makeTwoTenants();
  const page = `/v1/messages?conversation_id=${one.ids.conversation}`;
  const service = useService(engine, [...records, message(one.ids.conversation, 1), message(one.ids.conversation, 2)], {
    LOG_LEVEL: 'trace',
  });

  describe('log lines', () => {
    it('are one JSON object per request, with id, method, route, status, time and key', async () => {
      const id = randomUUID();
      const { line } = await requestAndLine(service, 'GET', page, {
        key: one.keys.app,
        headers: { 'x-request-id': id },
      });
      assert.equal(line.req_id, id);
      assert.equal(line.method, 'GET');
      assert.equal(line.route, '/v1/messages');
      assert.equal(line.status, 200);
      assert.equal(typeof line.ms, 'number');
      assert.ok(Number(line.ms) >= 0 && Number(line.ms) < 5000);
      assert.equal(line.key_id, one.keyIds.app);
      assert.equal(new Date(String(line.time)).toISOString(), line.time);
      assert.ok(line.level);
    });

    it('have the request id of the response, also if the service created it', async () => {
      const { response, line } = await requestAndLine(service, 'GET', '/health/live');
      assert.equal(line.req_id, response.headers['x-request-id']);
      assert.equal(line.key_id, null);
    });

    it('have the id of the trace of a valid traceparent, also for plain pages', async () => {
      const trace = '4bf92f3577b34da6a3ce929d0e0e4736';
      const rest = `${trace}-00f067aa0ba902b7-01`;
      for (const path of [page, `${page}&x=1`, one.chunkPath]) {
        const key = path.startsWith(page) ? one.keys.app : one.keys.knowledge;
        const send = async (traceparent: string) =>
          (await requestAndLine(service, 'GET', path, { key, headers: { traceparent } })).line.trace_id;
        assert.equal(await send(`00-${rest}`), trace);
        assert.equal(await send(`cc-${rest}-what the future brings`), trace);
        for (const bad of [`ff-${rest}`, `00-${rest.toUpperCase()}`, `00-${rest}"`, `00-${'0'.repeat(32)}-1`, '"'])
          assert.equal(await send(bad), undefined, bad);
      }
    });

    it('have the pattern of the route, for every route and status', async () => {
      const knowledge = { key: one.keys.knowledge };
      const requests: [string, string, RequestOptions, string, number][] = [
        ['HEAD', page, { key: one.keys.app }, '/v1/messages', 200],
        ['GET', '/v1/messages', { key: one.keys.app }, '/v1/messages', 400],
        ['GET', '/v1/messages', {}, '/v1/messages', 401],
        ['GET', '/v1/messages?conversation_id=x', { key: one.keys.app }, '/v1/messages', 404],
        ['GET', one.chunkPath, knowledge, chunkRoute, 200],
        ['PATCH', one.chunkPath, { ...knowledge, body: { content: 'a' } }, chunkRoute, 200],
        ['PATCH', one.chunkPath, { ...knowledge, body: 'x' }, chunkRoute, 415],
        ['GET', modelPath, knowledge, modelRoute, 200],
        ['POST', '/admin/records', { key: one.keys.writer, headers: ndjsonHeaders, body: '' }, '/admin/records', 200],
        ['GET', '/metrics', { key: admin }, '/metrics', 200],
        ['GET', '/docs', {}, '/docs', 200],
      ];
      for (const [method, path, options, route, status] of requests) {
        const { response, line } = await requestAndLine(service, method, path, options);
        assert.equal(response.status, status, `${method} ${path} ${response.text}`);
        assert.deepEqual([line.method, line.route, line.status], [method, route, status]);
      }
    });

    it('have the key of a request that failed after the key check', async () => {
      const { line } = await requestAndLine(service, 'GET', '/v1/messages', { key: one.keys.app });
      assert.equal(line.status, 400);
      assert.equal(line.key_id, one.keyIds.app);
    });

    it('do not contain an unknown path', async () => {
      const { line } = await requestAndLine(service, 'GET', '/some-private-path/of-a-user');
      assert.equal(line.status, 404);
      assert.ok(!service.logs.join('').includes('of-a-user'));
    });
  });

  describe('log lines, errors and metrics', () => {
    it('contain no secret, wherever it was sent', async () => {
      const secret = makeSecret('app');
      const valid = one.keys.app;
      const requests: [string, string, RequestOptions][] = [];
      for (const sent of [secret, valid]) {
        requests.push(
          ['GET', page, { key: sent }],
          ['GET', `${page}&api_key=${sent}`, { key: valid }],
          ['GET', `/v1/messages?conversation_id=${sent}`, { key: valid }],
          ['GET', `${page}&first_id=${sent}`, { key: valid }],
          ['GET', `${page}&limit=${sent}`, { key: valid }],
          ['GET', `${page}&page_order=${sent}`, { key: valid }],
          ['GET', `${page}&${sent}=1&${sent}=2`, { key: valid }],
          ['GET', `/v1/${sent}`, {}],
          ['GET', `/${sent}/messages?${sent}`, {}],
          ['PUT', `/v1/messages?${sent}`, {}],
          ['PUT', `/v1/workspaces/current/models/model-types/${sent}`, {}],
          ['GET', `/v1/workspaces/current/models/model-types/${sent}`, { key: valid }],
          ['GET', `/v1/workspaces/current/models/model-types/${sent}%zz`, {}],
          ['GET', page, { headers: { authorization: sent } }],
          ['GET', page, { headers: { authorization: `Basic ${sent}` } }],
          ['GET', page, { headers: { 'x-api-key': sent, cookie: `key=${sent}`, 'user-agent': sent, referer: sent } }],
          ['GET', page, { headers: { 'if-none-match': `"${sent}"` }, key: valid }],
        );
      }
      const knowledge = one.keys.knowledge;
      const json = { 'content-type': 'application/json' };
      requests.push(
        ['PATCH', one.chunkPath.replace(one.ids.chunk, secret), { key: knowledge, body: { content: 'a' } }],
        ['PATCH', one.chunkPath.replace(one.ids.dataset, secret), { key: knowledge, body: { content: 'a' } }],
        ['PATCH', one.chunkPath, { key: knowledge, headers: json, body: secret }],
        ['PATCH', one.chunkPath, { key: knowledge, headers: json, body: `{"content":"${secret}"` }],
        ['PATCH', one.chunkPath, { key: knowledge, body: { content: [secret] } }],
        ['PATCH', one.chunkPath, { key: knowledge, body: { secret } }],
        ['PATCH', one.chunkPath, { key: knowledge, headers: { 'content-type': secret }, body: 'x' }],
        ['PATCH', one.chunkPath, { key: knowledge, headers: { 'if-match': `"${secret}"` }, body: { content: 'a' } }],
        ...[
          `${secret}\n`,
          `{"record":"api_key","secret":"${secret}"\n`,
          ndjson([{ record: secret }]),
          ndjson([{ record: 'api_key', kind: 'app', secret }]),
          ndjson([{ record: 'api_key', kind: 'admin', name: 'a', secret: `x${secret}` }]),
          ndjson([{ record: 'api_key', kind: 'admin', name: 'a', digest: secret }]),
          ndjson([{ record: 'app', id: randomUUID(), workspace_id: secret, name: secret, mode: secret }]),
        ].map((body): (typeof requests)[number] => [
          'POST',
          '/admin/records',
          { key: admin, headers: ndjsonHeaders, body },
        ]),
      );
      const randomPart = (key: string) => key.slice(key.indexOf('-') + 1);
      for (const [method, path, options] of requests) {
        const response = await service.request(method, path, options);
        assert.ok(response.status < 500, `${method} ${path}: ${response.status}`);
        if (response.status < 400) continue;
        for (const sent of [secret, valid])
          assert.ok(!response.text.includes(randomPart(sent)), `${method}: ${response.text}`);
      }
      const metrics = (await requestAndLine(service, 'GET', '/metrics', { key: admin })).response.text;
      const logs = service.logs.join('');
      for (const sent of [secret, valid, knowledge, admin]) {
        assert.ok(!logs.includes(randomPart(sent)), 'a secret is in the logs');
        assert.ok(!metrics.includes(randomPart(sent)), 'a secret is in the metrics');
      }
    });

    it('contain no secret that was sent as a request id', async () => {
      const key = makeSecret('knowledge');
      const { headers } = await service.as(key).get(modelPath, { 'x-request-id': key });
      await lineOf(service, String(headers['x-request-id']));
      assert.ok(!service.logs.join('').includes(key), 'a secret is in the logs');
      assert.notEqual(headers['x-request-id'], key);
    });

    it('contain no query string, no user id and no text of a user', async () => {
      const user = `user-${randomUUID()}`;
      const conversation = randomUUID();
      const text = `text-${randomUUID()}`;
      await service.load([
        { record: 'conversation', id: conversation, app_id: one.ids.app, user },
        message(conversation, 1, { query: text, answer: text }),
      ]);
      const app = { key: one.keys.app };
      const writer = { key: one.keys.writer, headers: ndjsonHeaders };
      const requests: [string, string, RequestOptions, number][] = [
        ['GET', `/v1/messages?conversation_id=${conversation}&user=${user}&limit=1`, app, 200],
        ['GET', `/v1/messages?conversation_id=${conversation}&user=${user}x`, app, 404],
        ['GET', `/v1/messages?user=${user}`, app, 400],
        ['GET', `/v1/messages?user=${user}`, {}, 401],
        ['PUT', `/v1/messages?user=${user}`, {}, 405],
        ['GET', `/v1/users/${user}?user=${user}`, {}, 404],
        ['PATCH', one.chunkPath, { key: one.keys.knowledge, body: { content: text } }, 200],
        ['PATCH', one.chunkPath, { key: one.keys.knowledge, body: { content: text, user } }, 200],
        ['POST', '/admin/records', { ...writer, body: ndjson([message(conversation, 2, { query: text })]) }, 200],
        [
          'POST',
          '/admin/records',
          {
            ...writer,
            body: ndjson([{ record: 'conversation', id: randomUUID(), app_id: one.ids.app, user, created_at: text }]),
          },
          400,
        ],
      ];
      for (const [method, path, options, status] of requests) {
        const { response } = await requestAndLine(service, method, path, options);
        assert.equal(response.status, status, `${method} ${path}: ${response.text}`);
      }
      const metrics = (await service.as(admin).get('/metrics')).text;
      for (const output of [service.logs.join(''), metrics]) {
        for (const value of [user, text, conversation, 'conversation_id=', 'limit=1']) {
          assert.ok(!output.includes(value), `${value} is in the output`);
        }
      }
    });

    it('do not repeat what the HTTP parser rejects', async () => {
      const secret = makeSecret('admin');
      const socket = net.connect(service.port, '127.0.0.1');
      let text = '';
      socket.on('data', (chunk) => {
        text += chunk;
      });
      socket.write(`GET /${secret} ${secret} HTTP/1.1\r\nAuthorization: Bearer ${secret}\r\n\r\n`);
      await once(socket, 'close');
      assert.match(text, /^HTTP\/1\.1 400 /);
      assert.ok(!text.includes(secret));
      assert.ok(!service.logs.join('').includes(secret));
    });
  });

  describe('/metrics', () => {
    const scrape = async () => {
      const response = await service.as(admin).get('/metrics');
      assert.equal(response.status, 200);
      return { response, ...readMetrics(response.text) };
    };
    const requests = 'backscroll_http_requests_total';
    const seconds = 'backscroll_http_request_duration_seconds';
    const sum = (samples: Sample[], name: string, expectedLabels: Record<string, string>) =>
      samples
        .filter((sample) => sample.name === name)
        .filter(({ labels }) => Object.entries(expectedLabels).every(([label, value]) => labels[label] === value))
        .reduce((total, { value }) => total + value, 0);
    /** Asserts that sending increases the counters; waits, because responses are sent before they are counted. */
    async function assertIncrease(expected: Record<string, string>, by: number, send: () => Promise<unknown>) {
      const before = (await scrape()).samples;
      for (let times = 0; times < by; times += 1) await send();
      const after = await until(async () => {
        const { samples } = await scrape();
        return sum(samples, requests, expected) >= sum(before, requests, expected) + by && samples;
      });
      for (const name of [requests, `${seconds}_count`]) {
        assert.equal(
          sum(after, name, expected) - sum(before, name, expected),
          by,
          `${name} ${JSON.stringify(expected)}`,
        );
      }
      return { before, after };
    }

    it('200: the version, the size of the database, its connections and the messages that were received', async () => {
      const valueIn = (samples: Sample[], name: string) => samples.find((sample) => sample.name === name)?.value ?? -1;
      const before = (await scrape()).samples;
      const body = ndjson([message(one.ids.conversation, 3), message(one.ids.conversation, 4), records[0] as object]);
      await service.as(admin).post('/admin/records', body, ndjsonHeaders);
      const { samples } = await scrape();
      const received = 'backscroll_messages_appended_total';
      assert.equal(valueIn(samples, received), valueIn(before, received) + 2);
      assert.ok(valueIn(samples, 'backscroll_database_bytes') > 100_000);
      assert.ok(valueIn(samples, 'backscroll_database_connections_in_use') >= 0);
      assert.equal(valueIn(samples, 'backscroll_database_connections_waiting'), 0);
      const build = samples.find(({ name }) => name === 'backscroll_build_info');
      assert.deepEqual([build?.value, build?.labels.node], [1, process.version]);
      assert.match(build?.labels.version ?? '', /^\d+\.\d+\.\d+/);
    });

    it('200: the response is in the Prometheus text format', async () => {
      const { response, samples, types } = await scrape();
      assert.match(response.headers['content-type'] ?? '', /^text\/plain;.*version=0\.0\.4/);
      assert.equal(types.get(requests), 'counter');
      assert.equal(types.get(seconds), 'histogram');
      const families = samples.map(({ name }) => name.replace(/_(bucket|sum|count)$/, ''));
      for (const [index, family] of families.entries()) {
        assert.ok(types.has(family) || types.has(samples[index]?.name ?? ''), `${family} has a type`);
      }
      const series = samples.map(({ name, labels }) => `${name}${JSON.stringify(labels)}`);
      assert.equal(new Set(series).size, series.length, 'no series is repeated');
    });

    it('200: metrics of the process are included', async () => {
      const { samples } = await scrape();
      for (const name of [
        'process_cpu_seconds_total',
        'process_resident_memory_bytes',
        'process_start_time_seconds',
        'nodejs_eventloop_lag_seconds',
      ]) {
        const sample = samples.find((one) => one.name === name) ?? assert.fail(`no ${name}`);
        assert.ok(sample.value >= 0, name);
      }
      assert.ok(sum(samples, 'process_resident_memory_bytes', {}) > 1_000_000);
      for (const part of ['anonymous', 'file'])
        assert.ok(sum(samples, 'backscroll_memory_bytes', { part }) > 1_000_000);
    });

    it('200: requests are counted by route and status', async () => {
      await assertIncrease({ route: '/v1/messages', status: '200' }, 3, () => service.as(one.keys.app).get(page));
      await assertIncrease({ route: '/v1/messages', status: '401' }, 2, () => service.request('GET', page));
      await assertIncrease({ route: '/v1/messages', status: '400' }, 2, () =>
        service.as(one.keys.app).get('/v1/messages'),
      );
      await assertIncrease({ route: chunkRoute, method: 'PATCH', status: '200' }, 2, () =>
        service.as(one.keys.knowledge).patch(one.chunkPath, { content: 'a' }),
      );
      await assertIncrease({ route: modelRoute, status: '200' }, 2, () => service.as(one.keys.app).get(modelPath));
      await assertIncrease({ route: '/health/live', status: '200' }, 2, () => service.request('GET', '/health/live'));
    });

    it('200: duration buckets are cumulative and match the count', async () => {
      const expected = { route: '/v1/messages', status: '200', method: 'GET' };
      await requestAndLine(service, 'GET', page, { key: one.keys.app });
      const { samples } = await scrape();
      const buckets = samples.filter(
        ({ name, labels }) =>
          name === `${seconds}_bucket` &&
          labels.route === '/v1/messages' &&
          labels.status === '200' &&
          labels.method === 'GET',
      );
      assert.ok(buckets.length > 3);
      for (const [index, { value }] of buckets.entries()) assert.ok(value >= (buckets[index - 1]?.value ?? 0));
      assert.equal(buckets.at(-1)?.labels.le, '+Inf');
      assert.equal(buckets.at(-1)?.value, sum(samples, `${seconds}_count`, expected));
      const total = sum(samples, `${seconds}_sum`, expected);
      assert.ok(total > 0 && total < 10, `${total} s`);
    });

    it('200: unknown paths and parameters create no new label values', async () => {
      await Promise.all([
        requestAndLine(service, 'GET', '/unknown'),
        requestAndLine(service, 'PUT', '/v1/messages'),
        requestAndLine(service, 'GET', `${modelPath}x`),
        requestAndLine(service, 'GET', one.chunkPath.replace(one.ids.chunk, 'x')),
        requestAndLine(service, 'GET', '/%zz'),
      ]);
      const valuesOf = (samples: Sample[]) =>
        new Set(samples.filter(({ name }) => name === requests).map(({ labels }) => JSON.stringify(labels)));
      const before = (await scrape()).samples;
      for (let index = 0; index < 30; index += 1) {
        const id = randomUUID();
        await service.request('GET', `/${id}`);
        await service.request('GET', `/${id}/%zz`);
        await service.request('GET', `/unknown/${id}?${id}`);
        await service.request('PUT', `/v1/messages?${id}`);
        await service.request('GET', `${modelPath}${id}`);
        await requestAndLine(service, 'GET', one.chunkPath.replace(one.ids.chunk, id));
      }
      const after = (await scrape()).samples;
      assert.deepEqual(valuesOf(after), valuesOf(before));
      const routes = new Set(after.map(({ labels }) => labels.route).filter((route) => route !== undefined));
      const openapi = (await service.request('GET', '/openapi.json')).body;
      const describedRoutes = Object.keys(openapi.paths).map((path) => path.replaceAll(/\{(\w+)\}/g, ':$1'));
      const others = [...routes].filter(
        (route) => !describedRoutes.includes(route) && !/^\/(docs|openapi\.json)/.test(route),
      );
      assert.ok(others.length <= 1, `label values: ${others}`);
    });
  });
});

onEveryEngine('logs of server errors', (engine) => {
  it('5xx: the error line has the request id, and no secret or query', async () => {
    const { one, records } = makeTwoTenants();
    const database = await newDatabaseUrl(engine);
    const service = await startService(engine, { LOG_LEVEL: 'trace' }, database.url);
    try {
      await service.load(records);
      await service.store.close();
      const path = `/v1/messages?conversation_id=${one.ids.conversation}&user=ann-the-user`;
      const { response } = await requestAndLine(service, 'GET', path, { key: one.keys.app });
      assert.ok(response.status >= 500);
      const errors = linesOf(service).filter(
        ({ level, req_id }) => Number(level) >= 50 && req_id === response.headers['x-request-id'],
      );
      assert.equal(errors.length, 1);
      for (const value of [one.keys.app, 'ann-the-user', 'conversation_id=']) {
        assert.ok(!service.logs.join('').includes(value), value);
      }
    } finally {
      await service.close().catch(() => {});
      await database.remove();
    }
  });

  it('LOG_LEVEL=error: an ordinary request is not logged', async () => {
    const service = await startService(engine, { LOG_LEVEL: 'error' });
    try {
      await service.request('GET', '/health/live');
      await service.request('GET', '/unknown');
    } finally {
      await service.close();
    }
    assert.deepEqual(service.logs, []);
  });
});

describe('an outage', () => {
  it('is logged when it begins and once a minute while it lasts, with the number of lines left out', () => {
    const outages = new Outages(WindowCounter.create());
    const count = (seconds: number) => outages.count('the disk is full', seconds * 1_000);
    assert.deepEqual([0, 1, 2, 59, 61, 62, 200].map(count), [0, undefined, undefined, undefined, 3, undefined, 1]);
    assert.equal(outages.count('something else', 200_001), 0);
  });

  it('is counted by its message, however many others there are', () => {
    const outages = new Outages(WindowCounter.create());
    outages.count('the first', 0);
    for (let at = 0; at < 1_000; at += 1) outages.count(`at port ${at}`, 0);
    assert.equal(outages.count('the first', 1), undefined);
  });
});
