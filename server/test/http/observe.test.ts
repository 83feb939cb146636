import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import net from 'node:net';
import { after, before, describe, it } from 'node:test';
import { makeSecret } from '../../src/domain/secret.ts';
import { Outages } from '../../src/http/observe/outages.ts';
import {
  makeWorld,
  message,
  ndjson,
  newDatabaseUrl,
  onEveryEngine,
  type RequestOptions,
  type Service,
  startService,
} from '../support/harness.ts';
import { until } from '../support/until.ts';

type Line = Record<string, unknown>;
type Sample = { name: string; labels: Record<string, string>; value: number };

const modelPath = '/v1/workspaces/current/models/model-types/llm';
const modelRoute = '/v1/workspaces/current/models/model-types/:model_type';
const chunkRoute = '/v1/datasets/:dataset_id/documents/:document_id/segments/:segment_id/child_chunks/:child_chunk_id';
const lines = { 'content-type': 'application/x-ndjson' };

const linesOf = (service: Service): Line[] =>
  service.logs
    .join('')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));

/** The line about one request; it is written when the answer has gone out. */
async function lineOf(service: Service, id: string): Promise<Line> {
  return until(() => {
    const found = linesOf(service).filter(({ req_id, msg }) => req_id === id && msg === 'request');
    assert.ok(found.length < 2, 'one line a request');
    return found[0];
  });
}

/** Asks, waits for the log line, gives both. */
async function observed(service: Service, method: string, path: string, ask: RequestOptions = {}) {
  const response = await service.request(method, path, ask);
  return { answer: response, line: await lineOf(service, String(response.headers['x-request-id'])) };
}

/** Every line of the Prometheus text format, or a failure. */
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

onEveryEngine('logs and metrics', (engine) => {
  let service: Service;
  const { one, admin, records } = makeWorld();
  const page = `/v1/messages?conversation_id=${one.ids.conversation}`;
  before(async () => {
    service = await startService(engine, { LOG_LEVEL: 'trace' });
    await service.load([...records, message(one.ids.conversation, 1), message(one.ids.conversation, 2)]);
  });
  after(() => service.close());

  describe('log lines', () => {
    it('one JSON object a request, with id, method, route, status, time and key', async () => {
      const id = randomUUID();
      const { line } = await observed(service, 'GET', page, { key: one.keys.app, headers: { 'x-request-id': id } });
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

    it('the request id is the one in the answer, also where the service made it', async () => {
      const { answer: response, line } = await observed(service, 'GET', '/health/live');
      assert.equal(line.req_id, response.headers['x-request-id']);
      assert.equal(line.key_id, null);
    });

    it('every route by its pattern, every status', async () => {
      const knowledge = { key: one.keys.knowledge };
      const asks: [string, string, RequestOptions, string, number][] = [
        ['HEAD', page, { key: one.keys.app }, '/v1/messages', 200],
        ['GET', '/v1/messages', { key: one.keys.app }, '/v1/messages', 400],
        ['GET', '/v1/messages', {}, '/v1/messages', 401],
        ['GET', '/v1/messages?conversation_id=x', { key: one.keys.app }, '/v1/messages', 404],
        ['GET', one.chunkPath, knowledge, chunkRoute, 200],
        ['PATCH', one.chunkPath, { ...knowledge, body: { content: 'a' } }, chunkRoute, 200],
        ['PATCH', one.chunkPath, { ...knowledge, body: 'x' }, chunkRoute, 415],
        ['GET', modelPath, knowledge, modelRoute, 200],
        ['POST', '/admin/records', { key: one.keys.writer, headers: lines, body: '' }, '/admin/records', 200],
        ['GET', '/metrics', { key: admin }, '/metrics', 200],
        ['GET', '/docs', {}, '/docs', 200],
      ];
      for (const [method, path, ask, route, status] of asks) {
        const { answer: response, line } = await observed(service, method, path, ask);
        assert.equal(response.status, status, `${method} ${path} ${response.text}`);
        assert.deepEqual([line.method, line.route, line.status], [method, route, status]);
      }
    });

    it('the key of a request that failed after the key was found', async () => {
      const { line } = await observed(service, 'GET', '/v1/messages', { key: one.keys.app });
      assert.equal(line.status, 400);
      assert.equal(line.key_id, one.keyIds.app);
    });

    it('a path that is no percent-encoding has its line too, and is counted', async () => {
      const { answer: response, line } = await observed(service, 'GET', '/v1/%zz');
      assert.equal(response.status, 400);
      assert.deepEqual([line.method, line.status, line.key_id], ['GET', 400, null]);
      const metrics = (await service.request('GET', '/metrics', { key: admin })).text;
      assert.match(metrics, /^backscroll_http_requests_total\{(?=.*route="unmatched").*status="400".*\} [1-9]/m);
    });

    it('an unknown path is not in them', async () => {
      const { line } = await observed(service, 'GET', '/some-private-path/of-somebody');
      assert.equal(line.status, 404);
      assert.ok(!service.logs.join('').includes('of-somebody'));
    });
  });

  describe('what is in no log line, error or metric', () => {
    it('no secret, wherever it was put', async () => {
      const secret = makeSecret('app');
      const known = one.keys.app;
      const asks: [string, string, RequestOptions][] = [];
      for (const one of [secret, known]) {
        asks.push(
          ['GET', page, { key: one }],
          ['GET', `${page}&api_key=${one}`, { key: known }],
          ['GET', `/v1/messages?conversation_id=${one}`, { key: known }],
          ['GET', `${page}&first_id=${one}`, { key: known }],
          ['GET', `${page}&limit=${one}`, { key: known }],
          ['GET', `${page}&page_order=${one}`, { key: known }],
          ['GET', `${page}&${one}=1&${one}=2`, { key: known }],
          ['GET', `/v1/${one}`, {}],
          ['GET', `/${one}/messages?${one}`, {}],
          ['PUT', `/v1/messages?${one}`, {}],
          ['PUT', `/v1/workspaces/current/models/model-types/${one}`, {}],
          ['GET', `/v1/workspaces/current/models/model-types/${one}`, { key: known }],
          ['GET', `/v1/workspaces/current/models/model-types/${one}%zz`, {}],
          ['GET', page, { headers: { authorization: one } }],
          ['GET', page, { headers: { authorization: `Basic ${one}` } }],
          ['GET', page, { headers: { 'x-api-key': one, cookie: `key=${one}`, 'user-agent': one, referer: one } }],
          ['GET', page, { headers: { 'if-none-match': `"${one}"` }, key: known }],
        );
      }
      const knowledge = one.keys.knowledge;
      const json = { 'content-type': 'application/json' };
      asks.push(
        ['PATCH', one.chunkPath.replace(one.ids.chunk, secret), { key: knowledge, body: { content: 'a' } }],
        ['PATCH', one.chunkPath.replace(one.ids.dataset, secret), { key: knowledge, body: { content: 'a' } }],
        ['PATCH', one.chunkPath, { key: knowledge, headers: json, body: secret }],
        ['PATCH', one.chunkPath, { key: knowledge, headers: json, body: `{"content":"${secret}"` }],
        ['PATCH', one.chunkPath, { key: knowledge, body: { content: [secret] } }],
        ['PATCH', one.chunkPath, { key: knowledge, body: { secret } }],
        ['PATCH', one.chunkPath, { key: knowledge, headers: { 'content-type': secret }, body: 'x' }],
        ['PATCH', one.chunkPath, { key: knowledge, headers: { 'if-match': `"${secret}"` }, body: { content: 'a' } }],
        ['POST', '/admin/records', { key: admin, headers: lines, body: `${secret}\n` }],
        ['POST', '/admin/records', { key: admin, headers: lines, body: `{"record":"api_key","secret":"${secret}"\n` }],
        ['POST', '/admin/records', { key: admin, headers: lines, body: ndjson([{ record: secret }]) }],
        [
          'POST',
          '/admin/records',
          { key: admin, headers: lines, body: ndjson([{ record: 'api_key', kind: 'app', secret }]) },
        ],
        [
          'POST',
          '/admin/records',
          {
            key: admin,
            headers: lines,
            body: ndjson([{ record: 'api_key', kind: 'admin', name: 'a', secret: `x${secret}` }]),
          },
        ],
        [
          'POST',
          '/admin/records',
          {
            key: admin,
            headers: lines,
            body: ndjson([{ record: 'api_key', kind: 'admin', name: 'a', digest: secret }]),
          },
        ],
        [
          'POST',
          '/admin/records',
          {
            key: admin,
            headers: lines,
            body: ndjson([{ record: 'app', id: randomUUID(), workspace_id: secret, name: secret, mode: secret }]),
          },
        ],
      );
      const random = (one: string) => one.slice(one.indexOf('-') + 1);
      for (const [method, path, ask] of asks) {
        const response = await service.request(method, path, ask);
        assert.ok(response.status < 500, `${method} ${path}: ${response.status}`);
        if (response.status < 400) continue;
        for (const one of [secret, known])
          assert.ok(!response.text.includes(random(one)), `${method}: ${response.text}`);
      }
      const metrics = (await observed(service, 'GET', '/metrics', { key: admin })).answer.text;
      const logs = service.logs.join('');
      for (const one of [secret, known, knowledge, admin]) {
        assert.ok(!logs.includes(random(one)), 'a secret is in the logs');
        assert.ok(!metrics.includes(random(one)), 'a secret is in the metrics');
      }
    });

    it('no secret that was sent as a request id', async () => {
      const key = makeSecret('knowledge');
      const { headers } = await service.request('GET', modelPath, { key, headers: { 'x-request-id': key } });
      await lineOf(service, String(headers['x-request-id']));
      assert.ok(!service.logs.join('').includes(key), 'a secret is in the logs');
      assert.notEqual(headers['x-request-id'], key);
    });

    it('no query string, no user id and no text of anybody', async () => {
      const user = `user-${randomUUID()}`;
      const conversation = randomUUID();
      const text = `text-${randomUUID()}`;
      await service.load([
        { record: 'conversation', id: conversation, app_id: one.ids.app, user },
        message(conversation, 1, { query: text, answer: text }),
      ]);
      const app = { key: one.keys.app };
      const writer = { key: one.keys.writer, headers: lines };
      const asks: [string, string, RequestOptions, number][] = [
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
      for (const [method, path, ask, status] of asks) {
        const { answer: response } = await observed(service, method, path, ask);
        assert.equal(response.status, status, `${method} ${path}: ${response.text}`);
      }
      const metrics = (await service.request('GET', '/metrics', { key: admin })).text;
      for (const output of [service.logs.join(''), metrics]) {
        for (const one of [user, text, conversation, 'conversation_id=', 'limit=1']) {
          assert.ok(!output.includes(one), `${one} is told`);
        }
      }
    });

    it('what the HTTP parser refuses is not repeated', async () => {
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
      const response = await service.request('GET', '/metrics', { key: admin });
      assert.equal(response.status, 200);
      return { answer: response, ...readMetrics(response.text) };
    };
    const requests = 'backscroll_http_requests_total';
    const seconds = 'backscroll_http_request_duration_seconds';
    const sum = (samples: Sample[], name: string, wanted: Record<string, string>) =>
      samples
        .filter((sample) => sample.name === name)
        .filter(({ labels }) => Object.entries(wanted).every(([label, value]) => labels[label] === value))
        .reduce((total, { value }) => total + value, 0);
    /** Answers go out before they are counted. */
    async function rises(wanted: Record<string, string>, by: number, ask: () => Promise<unknown>) {
      const before = (await scrape()).samples;
      for (let times = 0; times < by; times += 1) await ask();
      const after = await until(async () => {
        const { samples } = await scrape();
        return sum(samples, requests, wanted) >= sum(before, requests, wanted) + by && samples;
      });
      for (const name of [requests, `${seconds}_count`]) {
        assert.equal(sum(after, name, wanted) - sum(before, name, wanted), by, `${name} ${JSON.stringify(wanted)}`);
      }
      return { before, after };
    }

    it('200: the Prometheus text format', async () => {
      const { answer: response, samples, types } = await scrape();
      assert.match(response.headers['content-type'] ?? '', /^text\/plain;.*version=0\.0\.4/);
      assert.equal(types.get(requests), 'counter');
      assert.equal(types.get(seconds), 'histogram');
      const families = samples.map(({ name }) => name.replace(/_(bucket|sum|count)$/, ''));
      for (const [index, family] of families.entries()) {
        assert.ok(types.has(family) || types.has(samples[index]?.name ?? ''), `${family} has a type`);
      }
      const series = samples.map(({ name, labels }) => `${name}${JSON.stringify(labels)}`);
      assert.equal(new Set(series).size, series.length, 'no series comes twice');
    });

    it('200: figures of the process', async () => {
      const { samples } = await scrape();
      for (const name of [
        'process_cpu_seconds_total',
        'process_resident_memory_bytes',
        'process_start_time_seconds',
        'nodejs_eventloop_lag_seconds',
      ]) {
        const found = samples.find((sample) => sample.name === name) ?? assert.fail(`no ${name}`);
        assert.ok(found.value >= 0, name);
      }
      assert.ok(sum(samples, 'process_resident_memory_bytes', {}) > 1_000_000);
    });

    it('200: requests are counted by route and status', async () => {
      await rises({ route: '/v1/messages', status: '200' }, 3, () =>
        service.request('GET', page, { key: one.keys.app }),
      );
      await rises({ route: '/v1/messages', status: '401' }, 2, () => service.request('GET', page));
      await rises({ route: '/v1/messages', status: '400' }, 2, () =>
        service.request('GET', '/v1/messages', { key: one.keys.app }),
      );
      await rises({ route: chunkRoute, method: 'PATCH', status: '200' }, 2, () =>
        service.request('PATCH', one.chunkPath, { key: one.keys.knowledge, body: { content: 'a' } }),
      );
      await rises({ route: modelRoute, status: '200' }, 2, () =>
        service.request('GET', modelPath, { key: one.keys.app }),
      );
      await rises({ route: '/health/live', status: '200' }, 2, () => service.request('GET', '/health/live'));
    });

    it('200: durations fall into buckets that add up', async () => {
      const wanted = { route: '/v1/messages', status: '200', method: 'GET' };
      await observed(service, 'GET', page, { key: one.keys.app });
      const { samples } = await scrape();
      const buckets = samples.filter(
        ({ name, labels }) =>
          name === `${seconds}_bucket` &&
          labels.route === wanted.route &&
          labels.status === '200' &&
          labels.method === 'GET',
      );
      assert.ok(buckets.length > 3);
      for (const [index, { value }] of buckets.entries()) assert.ok(value >= (buckets[index - 1]?.value ?? 0));
      assert.equal(buckets.at(-1)?.labels.le, '+Inf');
      assert.equal(buckets.at(-1)?.value, sum(samples, `${seconds}_count`, wanted));
      const total = sum(samples, `${seconds}_sum`, wanted);
      assert.ok(total > 0 && total < 10, `${total} s`);
    });

    it('200: unknown paths and parameters make no new label values', async () => {
      await Promise.all([
        observed(service, 'GET', '/nowhere'),
        observed(service, 'PUT', '/v1/messages'),
        observed(service, 'GET', `${modelPath}x`),
        observed(service, 'GET', one.chunkPath.replace(one.ids.chunk, 'x')),
        observed(service, 'GET', '/%zz'),
      ]);
      const valuesOf = (samples: Sample[]) =>
        new Set(samples.filter(({ name }) => name === requests).map(({ labels }) => JSON.stringify(labels)));
      const before = (await scrape()).samples;
      for (let index = 0; index < 30; index += 1) {
        const id = randomUUID();
        await service.request('GET', `/${id}`);
        await service.request('GET', `/${id}/%zz`);
        await service.request('GET', `/nowhere/${id}?${id}`);
        await service.request('PUT', `/v1/messages?${id}`);
        await service.request('GET', `${modelPath}${id}`);
        await observed(service, 'GET', one.chunkPath.replace(one.ids.chunk, id));
      }
      const after = (await scrape()).samples;
      assert.deepEqual(valuesOf(after), valuesOf(before));
      const routes = new Set(after.map(({ labels }) => labels.route).filter((route) => route !== undefined));
      const openapi = (await service.request('GET', '/openapi.json')).body;
      const known = Object.keys(openapi.paths).map((path) => path.replaceAll(/\{(\w+)\}/g, ':$1'));
      const others = [...routes].filter((route) => !known.includes(route) && !/^\/(docs|openapi\.json)/.test(route));
      assert.ok(others.length <= 1, `label values: ${others}`);
    });
  });
});

onEveryEngine('logs of faults', (engine) => {
  it('5xx: an error line with the request id, and no secret or query in it', async () => {
    const { one, records } = makeWorld();
    const database = await newDatabaseUrl(engine);
    const service = await startService(engine, { LOG_LEVEL: 'trace' }, database.url);
    try {
      await service.load(records);
      await service.store.close();
      const path = `/v1/messages?conversation_id=${one.ids.conversation}&user=ann-the-user`;
      const { answer: response } = await observed(service, 'GET', path, { key: one.keys.app });
      assert.ok(response.status >= 500);
      const errors = linesOf(service).filter(
        ({ level, req_id }) => Number(level) >= 50 && req_id === response.headers['x-request-id'],
      );
      assert.equal(errors.length, 1);
      for (const told of [one.keys.app, 'ann-the-user', 'conversation_id=']) {
        assert.ok(!service.logs.join('').includes(told), told);
      }
    } finally {
      await service.close().catch(() => {});
      await database.remove();
    }
  });

  it('LOG_LEVEL=error: no line for an ordinary request', async () => {
    const service = await startService(engine, { LOG_LEVEL: 'error' });
    try {
      await service.request('GET', '/health/live');
      await service.request('GET', '/nowhere');
    } finally {
      await service.close();
    }
    assert.deepEqual(service.logs, []);
  });
});

describe('an outage', () => {
  it('is told when it begins and once a minute while it lasts, with how many were left out', () => {
    const outages = new Outages();
    const count = (seconds: number) => outages.count('the disk is full', seconds * 1_000);
    assert.deepEqual([0, 1, 2, 59, 61, 62, 200].map(count), [0, undefined, undefined, undefined, 3, undefined, 1]);
    assert.equal(outages.count('something else', 200_001), 0);
  });

  it('that never reads the same is not remembered without end', () => {
    const outages = new Outages();
    outages.count('the first', 0);
    for (let at = 0; at < 1_000; at += 1) outages.count(`at port ${at}`, 0);
    assert.equal(outages.count('the first', 1), 0);
  });
});
