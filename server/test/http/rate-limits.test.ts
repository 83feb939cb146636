import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { makeSecret } from '../../src/domain/secret.ts';
import {
  type Engine,
  makeWorld,
  message,
  ndjson,
  onEveryEngine,
  type RequestOptions,
  type Service,
  startService,
  type TestResponse,
} from '../support/harness.ts';
import { until } from '../support/until.ts';

const lines = { 'content-type': 'application/x-ndjson' };
/** Spelled so that it leads past the fast lane, to the route. */
const toTheRoute = { connection: 'Keep-Alive' };
const toTheLane = { connection: 'keep-alive' };

const fields = ['ratelimit-policy', 'ratelimit', 'ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset'];
const toldBy = ({ headers }: TestResponse) => fields.map((name) => headers[name]);
const silence = fields.map(() => undefined);
const requests = (max: number, left: number) => [
  `"requests";q=${max};w=1`,
  `"requests";r=${left};t=1`,
  `${max}`,
  `${left}`,
  '1',
];

async function startWorld(engine: Engine, settings: Record<string, string>) {
  const world = makeWorld();
  const service = await startService(engine, settings);
  await service.load([...world.records, message(world.one.ids.conversation, 1)]);
  service.stopTime();
  const { one, admin } = world;
  const page = `/v1/messages?conversation_id=${one.ids.conversation}`;
  const read = (headers: RequestOptions['headers'] = {}) =>
    service.request('GET', page, { key: one.keys.app, headers });
  const readChunk = () => service.request('GET', one.chunkPath, { key: one.keys.knowledge });
  const write = (content = 'text') =>
    service.request('PATCH', one.chunkPath, { key: one.keys.knowledge, body: { content } });
  const record = ndjson([message(one.ids.conversation, 2)]);
  const post = () => service.request('POST', '/admin/records', { key: one.keys.writer, headers: lines, body: record });
  return { service, one, admin, page, read, readChunk, write, post };
}
type World = Awaited<ReturnType<typeof startWorld>>;

onEveryEngine('rate limits', (engine) => {
  describe('RATE_LIMIT=3 and WRITE_LIMIT=2', () => {
    let world: World;
    let service: Service;
    before(async () => {
      world = await startWorld(engine, { RATE_LIMIT: '3', WRITE_LIMIT: '2', METRICS_TOKEN: 'scrape' });
      ({ service } = world);
    });
    after(() => service.close());

    for (const [way, headers] of Object.entries({ 'the fast lane': toTheLane, 'its route': toTheRoute })) {
      it(`200, 304, 404, 429: a page by ${way} says what is left`, async () => {
        service.passTime(1);
        const first = await world.read(headers);
        assert.equal(first.status, 200);
        assert.deepEqual(toldBy(first), requests(3, 2));
        const held = await world.read({ ...headers, 'if-none-match': first.headers.etag });
        assert.equal(held.status, 304);
        assert.deepEqual(toldBy(held), requests(3, 1));
        const absent = await service.request('GET', `${world.page}x`, { key: world.one.keys.app, headers });
        assert.equal(absent.status, 404);
        assert.deepEqual(toldBy(absent), requests(3, 0));
        const refused = await world.read(headers);
        assert.equal(refused.status, 429);
        assert.equal(refused.body.message, 'more than 3 requests a second');
        assert.equal(refused.headers['retry-after'], '1');
        assert.deepEqual(toldBy(refused), requests(3, 0));
      });
    }

    it('200 and 429: a write counts towards both, and the older headers tell of the nearest', async () => {
      service.passTime(1);
      const policy = '"requests";q=3;w=1, "writes";q=2;w=1';
      const first = await world.write();
      assert.equal(first.status, 200);
      assert.deepEqual(toldBy(first), [policy, '"requests";r=2;t=1, "writes";r=1;t=1', '2', '1', '1']);
      assert.equal((await world.write()).status, 200);
      const third = await world.write('never written');
      assert.equal(third.status, 429);
      assert.equal(third.body.message, 'more than 2 writes a second');
      assert.equal(third.headers['retry-after'], '1');
      assert.deepEqual(toldBy(third), [policy, '"requests";r=0;t=1, "writes";r=0;t=1', '3', '0', '1']);
      const read = await world.readChunk();
      assert.equal(read.status, 429);
      assert.equal(read.body.message, 'more than 3 requests a second');
      service.passTime(1);
      const later = await world.readChunk();
      assert.deepEqual([later.status, later.body.data.content], [200, 'text']);
    });

    it('429: a write that is one request too many is not counted as a write', async () => {
      service.passTime(1);
      for (let times = 0; times < 3; times += 1) assert.equal((await world.readChunk()).status, 200);
      const response = await world.write();
      assert.equal(response.status, 429);
      assert.equal(response.headers.ratelimit, '"requests";r=0;t=1, "writes";r=2;t=1');
      assert.deepEqual(toldBy(response).slice(2), ['3', '0', '1']);
    });

    it('200 and 429: POST /admin/records is a write, GET is none', async () => {
      service.passTime(1);
      assert.deepEqual(toldBy(await world.post())[1], '"requests";r=2;t=1, "writes";r=1;t=1');
      assert.equal((await world.post()).status, 200);
      assert.equal((await world.post()).body.message, 'more than 2 writes a second');
      const exported = await service.request('GET', '/admin/records', { key: world.admin });
      assert.equal(exported.status, 200);
      assert.deepEqual(toldBy(exported), requests(3, 2));
    });

    it('400, 405, 412, 415: what is wrong with a request does not hide its limits', async () => {
      service.passTime(1);
      const key = world.one.keys.knowledge;
      const stale = { key, headers: { 'if-match': '"stale"' }, body: { content: 'another' } };
      const asks: [number, RequestOptions][] = [
        [412, stale],
        [415, { key, body: 'x' }],
        [400, { key, body: { content: '' } }],
      ];
      for (const [status, ask] of asks) {
        service.passTime(1);
        const response = await service.request('PATCH', world.one.chunkPath, ask);
        assert.equal(response.status, status);
        assert.equal(response.headers.ratelimit, '"requests";r=2;t=1, "writes";r=1;t=1');
      }
      const wrongMethod = await service.request('PUT', world.one.chunkPath, { key });
      assert.equal(wrongMethod.status, 405);
      assert.deepEqual(toldBy(wrongMethod), silence, 'the key was not looked at');
    });

    it('401: a key that does not open the route is told nothing, and nothing is counted', async () => {
      service.passTime(1);
      for (const key of [undefined, 'x', makeSecret('app'), world.one.keys.knowledge]) {
        for (const headers of [toTheLane, toTheRoute]) {
          const response = await service.request('GET', world.page, { key, headers });
          assert.equal(response.status, 401);
          assert.deepEqual(toldBy(response), silence);
        }
      }
      assert.deepEqual(toldBy(await world.readChunk()), requests(3, 2));
    });

    it('200: open addresses and the metrics token have no limit', async () => {
      for (let times = 0; times < 5; times += 1) {
        for (const [path, key] of [
          ['/health/live', world.admin],
          ['/docs', world.admin],
          ['/metrics', 'scrape'],
        ] as const) {
          const response = await service.request('GET', path, { key });
          assert.equal(response.status, 200);
          assert.deepEqual(toldBy(response), silence, path);
        }
      }
    });

    it('200: a clock that is set back shuts no key out', async () => {
      service.passTime(1);
      for (let times = 0; times < 4; times += 1) await world.read();
      assert.equal((await world.read()).status, 429);
      service.passTime(-3600);
      const response = await world.read();
      assert.equal(response.status, 200);
      assert.deepEqual(toldBy(response), requests(3, 2));
    });

    it('401: a clock that is set back ends the throttling of an address', async () => {
      service.passTime(100);
      const from = '127.0.0.9';
      const fail = () => service.request('GET', world.page, { key: makeSecret('app'), from });
      for (let times = 0; times < 100; times += 1) assert.equal((await fail()).status, 401);
      assert.equal((await fail()).status, 429);
      service.passTime(-3600);
      assert.equal((await fail()).status, 401);
    });

    it('429: the log line names the key', async () => {
      service.passTime(1);
      for (const headers of [toTheLane, toTheRoute]) {
        let response: TestResponse;
        do response = await world.read({ ...headers, 'x-request-id': 'limited' });
        while (response.status === 200);
      }
      // A line is written when its answer has ended.
      const told = () => service.logs.flatMap((text) => text.match(/.*"limited".*"status":429.*/g) ?? []);
      await until(() => told().length >= 2);
      assert.equal(told().length, 2);
      for (const line of told()) assert.equal(JSON.parse(line).key_id, world.one.keyIds.app);
    });
  });

  describe('WRITE_LIMIT alone', () => {
    it('200 and 429: limits writes, and says nothing of reads', async () => {
      const world = await startWorld(engine, { WRITE_LIMIT: '1' });
      try {
        const first = await world.write();
        assert.equal(first.status, 200);
        assert.deepEqual(toldBy(first), ['"writes";q=1;w=1', '"writes";r=0;t=1', '1', '0', '1']);
        assert.equal((await world.write()).status, 429);
        for (let times = 0; times < 5; times += 1) {
          const read = await world.readChunk();
          assert.equal(read.status, 200);
          assert.deepEqual(toldBy(read), silence);
        }
      } finally {
        await world.service.close();
      }
    });
  });

  describe('no limit', () => {
    it('200: no header speaks of one', async () => {
      const world = await startWorld(engine, {});
      try {
        for (const response of [await world.read(toTheLane), await world.read(toTheRoute), await world.write()]) {
          assert.equal(response.status, 200);
          assert.deepEqual(toldBy(response), silence);
        }
      } finally {
        await world.service.close();
      }
    });
  });

  describe('figures', () => {
    it('failed keys by reason and throttled requests by limit, never by key or address', async () => {
      const world = await startWorld(engine, { RATE_LIMIT: '9', WRITE_LIMIT: '1' });
      const { service, one, admin, page } = world;
      const expired = makeSecret('app');
      const from = '127.0.0.8';
      const figures = async () => {
        service.passTime(1);
        const { text } = await service.request('GET', '/metrics', { key: admin });
        const found = text.matchAll(/^backscroll_(failed_keys|throttled)_total\{(.*)\} (\d+)$/gm);
        return Object.fromEntries([...found].map(([, name, label, value]) => [`${name} ${label}`, Number(value)]));
      };
      const expected: Record<string, number> = {
        'failed_keys reason="missing"': 0,
        'failed_keys reason="unknown"': 0,
        'failed_keys reason="wrong_kind"': 0,
        'throttled limit="failed_keys"': 0,
        'throttled limit="requests"': 0,
        'throttled limit="writes"': 0,
      };
      try {
        assert.deepEqual(await figures(), expected, 'zero from the start');
        const key = { record: 'api_key', kind: 'app', workspace_id: one.ids.workspace, app_id: one.ids.app };
        await service.load([{ ...key, name: 'expired', secret: expired, expires_at: 1 }]);

        await service.request('GET', page);
        await service.request('GET', page, { headers: { authorization: 'Basic x' } });
        await service.request('GET', page, { key: one.keys.writer });
        await service.request('GET', page, { key: expired });
        await service.request('GET', page, { key: makeSecret('app') });
        expected['failed_keys reason="missing"'] = 2;
        expected['failed_keys reason="wrong_kind"'] = 1;
        expected['failed_keys reason="unknown"'] = 2;
        assert.deepEqual(await figures(), expected);

        for (let times = 0; times < 12; times += 1) await world.read(times % 2 ? toTheLane : toTheRoute);
        for (let times = 0; times < 3; times += 1) await world.write();
        expected['throttled limit="requests"'] = 3;
        expected['throttled limit="writes"'] = 2;
        assert.deepEqual(await figures(), expected);

        service.passTime(61);
        for (let times = 0; times < 102; times += 1)
          await service.request('GET', page, { key: makeSecret('app'), from });
        await service.request('GET', page, { from });
        expected['failed_keys reason="unknown"'] = 104;
        expected['failed_keys reason="missing"'] = 3;
        expected['throttled limit="failed_keys"'] = 3;
        assert.deepEqual(await figures(), expected);

        const { text } = await service.request('GET', '/metrics', { key: admin });
        assert.ok(!text.includes(from) && !text.includes(one.keyIds.app) && !text.includes(expired.slice(4)));
      } finally {
        await service.close();
      }
    });
  });
});
