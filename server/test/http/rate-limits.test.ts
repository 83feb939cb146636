import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { makeSecret } from '../../src/domain/secret.ts';
import {
  type Engine,
  makeTwoTenants,
  message,
  ndjson,
  onOneEngine,
  type RequestOptions,
  type Service,
  startService,
  type TestResponse,
} from '../support/harness.ts';
import { until } from '../support/until.ts';

const ndjsonHeaders = { 'content-type': 'application/x-ndjson' };
/** An unusual spelling that sends the request past the fast lane to the route. */
const routeHeaders = { connection: 'Keep-Alive' };
const laneHeaders = { connection: 'keep-alive' };

const limitHeaders = ['ratelimit-policy', 'ratelimit', 'ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset'];
const limitsOf = ({ headers }: TestResponse) => limitHeaders.map((name) => headers[name]);
const noLimits = limitHeaders.map(() => undefined);
const requests = (max: number, left: number) => [
  `"requests";q=${max};w=1`,
  `"requests";r=${left};t=1`,
  `${max}`,
  `${left}`,
  '1',
];

async function startFixture(engine: Engine, settings: Record<string, string>) {
  const fixture = makeTwoTenants();
  const service = await startService(engine, settings);
  await service.load([...fixture.records, message(fixture.one.ids.conversation, 1)]);
  service.freezeClock();
  const { one, admin } = fixture;
  const page = `/v1/messages?conversation_id=${one.ids.conversation}`;
  const read = (headers: RequestOptions['headers'] = {}) => service.as(one.keys.app).get(page, headers);
  const readChunk = () => service.as(one.keys.knowledge).get(one.chunkPath);
  const write = (content = 'text') => service.as(one.keys.knowledge).patch(one.chunkPath, { content });
  const record = ndjson([message(one.ids.conversation, 2)]);
  const post = () => service.as(one.keys.writer).post('/admin/records', record, ndjsonHeaders);
  return { service, one, admin, page, read, readChunk, write, post };
}
type Fixture = Awaited<ReturnType<typeof startFixture>>;

onOneEngine('rate limits', (engine) => {
  describe('RATE_LIMIT=3 and WRITE_LIMIT=2', () => {
    let fixture: Fixture;
    let service: Service;
    before(async () => {
      fixture = await startFixture(engine, { RATE_LIMIT: '3', WRITE_LIMIT: '2', METRICS_TOKEN: 'scrape' });
      ({ service } = fixture);
    });
    after(() => service.close());

    for (const [way, headers] of Object.entries({ 'the fast lane': laneHeaders, 'its route': routeHeaders })) {
      it(`200, 304, 404 and 429: a page by ${way} reports what is left`, async () => {
        service.advanceClock(1);
        const first = await fixture.read(headers);
        assert.equal(first.status, 200);
        assert.deepEqual(limitsOf(first), requests(3, 2));
        const notModified = await fixture.read({ ...headers, 'if-none-match': first.headers.etag });
        assert.equal(notModified.status, 304);
        assert.deepEqual(limitsOf(notModified), requests(3, 1));
        const notFound = await service.as(fixture.one.keys.app).get(`${fixture.page}x`, headers);
        assert.equal(notFound.status, 404);
        assert.deepEqual(limitsOf(notFound), requests(3, 0));
        const rejected = await fixture.read(headers);
        assert.equal(rejected.status, 429);
        assert.equal(rejected.body.message, 'more than 3 requests a second');
        assert.equal(rejected.headers['retry-after'], '1');
        assert.deepEqual(limitsOf(rejected), requests(3, 0));
        const invalid = await service.as(fixture.one.keys.app).get('/v1/messages?limit=x', headers);
        assert.equal(invalid.status, 429, 'the limit is checked before the parameters');
      });
    }

    it('200 and 429: a write counts towards both limits, and the older headers report the one that is closest', async () => {
      service.advanceClock(1);
      const policy = '"requests";q=3;w=1, "writes";q=2;w=1';
      const first = await fixture.write();
      assert.equal(first.status, 200);
      assert.deepEqual(limitsOf(first), [policy, '"requests";r=2;t=1, "writes";r=1;t=1', '2', '1', '1']);
      assert.equal((await fixture.write()).status, 200);
      const third = await fixture.write('never written');
      assert.equal(third.status, 429);
      assert.equal(third.body.message, 'more than 2 writes a second');
      assert.equal(third.headers['retry-after'], '1');
      assert.deepEqual(limitsOf(third), [policy, '"requests";r=0;t=1, "writes";r=0;t=1', '3', '0', '1']);
      const read = await fixture.readChunk();
      assert.equal(read.status, 429);
      assert.equal(read.body.message, 'more than 3 requests a second');
      service.advanceClock(1);
      const laterRead = await fixture.readChunk();
      assert.deepEqual([laterRead.status, laterRead.body.data.content], [200, 'text']);
    });

    it('429: a write over the request limit is not counted as a write', async () => {
      service.advanceClock(1);
      for (let times = 0; times < 3; times += 1) assert.equal((await fixture.readChunk()).status, 200);
      const response = await fixture.write();
      assert.equal(response.status, 429);
      assert.equal(response.headers.ratelimit, '"requests";r=0;t=1, "writes";r=2;t=1');
      assert.deepEqual(limitsOf(response).slice(2), ['3', '0', '1']);
    });

    it('200 and 429: POST /admin/records is a write, GET is not', async () => {
      service.advanceClock(1);
      assert.deepEqual(limitsOf(await fixture.post())[1], '"requests";r=2;t=1, "writes";r=1;t=1');
      assert.equal((await fixture.post()).status, 200);
      assert.equal((await fixture.post()).body.message, 'more than 2 writes a second');
      const exported = await service.as(fixture.admin).get('/admin/records');
      assert.equal(exported.status, 200);
      assert.deepEqual(limitsOf(exported), requests(3, 2));
    });

    it('400, 412 and 415: errors report the limits too; 405 does not', async () => {
      service.advanceClock(1);
      const key = fixture.one.keys.knowledge;
      const stale = { key, headers: { 'if-match': '"stale"' }, body: { content: 'another' } };
      const requests: [number, RequestOptions][] = [
        [412, stale],
        [415, { key, body: 'x' }],
        [400, { key, body: { content: '' } }],
      ];
      for (const [status, options] of requests) {
        service.advanceClock(1);
        const response = await service.request('PATCH', fixture.one.chunkPath, options);
        assert.equal(response.status, status);
        assert.equal(response.headers.ratelimit, '"requests";r=2;t=1, "writes";r=1;t=1');
      }
      const wrongMethod = await service.as(key).put(fixture.one.chunkPath);
      assert.equal(wrongMethod.status, 405);
      assert.deepEqual(limitsOf(wrongMethod), noLimits, 'the key was not checked');
    });

    it('401: a key that does not allow the route gets no limits, and nothing is counted', async () => {
      service.advanceClock(1);
      for (const key of [undefined, 'x', makeSecret('app'), fixture.one.keys.knowledge]) {
        for (const headers of [laneHeaders, routeHeaders]) {
          const response = await service.as(key).get(fixture.page, headers);
          assert.equal(response.status, 401);
          assert.deepEqual(limitsOf(response), noLimits);
        }
      }
      assert.deepEqual(limitsOf(await fixture.readChunk()), requests(3, 2));
    });

    it('200: addresses without a key check and the metrics token have no limit', async () => {
      for (let times = 0; times < 5; times += 1) {
        for (const [path, key] of [
          ['/health/live', fixture.admin],
          ['/docs', fixture.admin],
          ['/metrics', 'scrape'],
        ] as const) {
          const response = await service.as(key).get(path);
          assert.equal(response.status, 200);
          assert.deepEqual(limitsOf(response), noLimits, path);
        }
      }
    });

    it('200: setting the clock back blocks no key', async () => {
      service.advanceClock(1);
      for (let times = 0; times < 4; times += 1) await fixture.read();
      assert.equal((await fixture.read()).status, 429);
      service.advanceClock(-3600);
      const response = await fixture.read();
      assert.equal(response.status, 200);
      assert.deepEqual(limitsOf(response), requests(3, 2));
    });

    it('401: setting the clock back ends the throttling of an address', async () => {
      service.advanceClock(100);
      const from = '127.0.0.9';
      const fail = () => service.request('GET', fixture.page, { key: makeSecret('app'), from });
      for (let times = 0; times < 100; times += 1) assert.equal((await fail()).status, 401);
      assert.equal((await fail()).status, 429);
      service.advanceClock(-3600);
      assert.equal((await fail()).status, 401);
    });

    it('429: the log line names the key', async () => {
      service.advanceClock(1);
      for (const headers of [laneHeaders, routeHeaders]) {
        let response: TestResponse;
        do response = await fixture.read({ ...headers, 'x-request-id': 'limited' });
        while (response.status === 200);
      }
      // A line is written after its response was sent.
      const limitedLines = () => service.logs.flatMap((text) => text.match(/.*"limited".*"status":429.*/g) ?? []);
      await until(() => limitedLines().length >= 2);
      assert.equal(limitedLines().length, 2);
      for (const line of limitedLines()) assert.equal(JSON.parse(line).key_id, fixture.one.keyIds.app);
    });
  });

  describe('only WRITE_LIMIT', () => {
    it('200 and 429: limits writes only, and reads report no limit', async () => {
      const fixture = await startFixture(engine, { WRITE_LIMIT: '1' });
      try {
        const first = await fixture.write();
        assert.equal(first.status, 200);
        assert.deepEqual(limitsOf(first), ['"writes";q=1;w=1', '"writes";r=0;t=1', '1', '0', '1']);
        assert.equal((await fixture.write()).status, 429);
        for (let times = 0; times < 5; times += 1) {
          const read = await fixture.readChunk();
          assert.equal(read.status, 200);
          assert.deepEqual(limitsOf(read), noLimits);
        }
      } finally {
        await fixture.service.close();
      }
    });
  });

  describe('no limit', () => {
    it('200: no response has a limit header', async () => {
      const fixture = await startFixture(engine, {});
      try {
        for (const response of [
          await fixture.read(laneHeaders),
          await fixture.read(routeHeaders),
          await fixture.write(),
        ]) {
          assert.equal(response.status, 200);
          assert.deepEqual(limitsOf(response), noLimits);
        }
        const many = await Promise.all(Array.from({ length: 300 }, () => fixture.read()));
        assert.ok(many.every(({ status }) => status === 200));
      } finally {
        await fixture.service.close();
      }
    });
  });

  describe('metrics', () => {
    it('count failed keys by reason and throttled requests by limit, never by key or address', async (t) => {
      const fixture = await startFixture(engine, { RATE_LIMIT: '9', WRITE_LIMIT: '1' });
      const { service, one, admin, page } = fixture;
      const expired = makeSecret('app');
      const from = '127.0.0.8';
      const readCounts = async () => {
        service.advanceClock(1);
        const { text } = await service.as(admin).get('/metrics');
        const samples = text.matchAll(/^backscroll_(failed_keys|throttled)_total\{(.*)\} (\d+)$/gm);
        return Object.fromEntries([...samples].map(([, name, label, value]) => [`${name} ${label}`, Number(value)]));
      };
      const expected: Record<string, number> = {
        'failed_keys reason="missing"': 0,
        'failed_keys reason="unknown"': 0,
        'failed_keys reason="wrong_kind"': 0,
        'throttled limit="failed_keys"': 0,
        'throttled limit="requests"': 0,
        'throttled limit="writes"': 0,
      };
      t.after(() => service.close());
      assert.deepEqual(await readCounts(), expected, 'zero from the start');
      const key = { record: 'api_key', kind: 'app', workspace_id: one.ids.workspace, app_id: one.ids.app };
      await service.load([{ ...key, name: 'expired', secret: expired, expires_at: 1 }]);

      await service.request('GET', page);
      await service.request('GET', page, { headers: { authorization: 'Basic x' } });
      await service.as(one.keys.writer).get(page);
      await service.as(expired).get(page);
      await service.as(makeSecret('app')).get(page);
      expected['failed_keys reason="missing"'] = 2;
      expected['failed_keys reason="wrong_kind"'] = 1;
      expected['failed_keys reason="unknown"'] = 2;
      assert.deepEqual(await readCounts(), expected);

      for (let times = 0; times < 12; times += 1) await fixture.read(times % 2 ? laneHeaders : routeHeaders);
      for (let times = 0; times < 3; times += 1) await fixture.write();
      expected['throttled limit="requests"'] = 3;
      expected['throttled limit="writes"'] = 2;
      assert.deepEqual(await readCounts(), expected);

      service.advanceClock(61);
      for (let times = 0; times < 102; times += 1) await service.request('GET', page, { key: makeSecret('app'), from });
      await service.request('GET', page, { from });
      expected['failed_keys reason="unknown"'] = 104;
      expected['failed_keys reason="missing"'] = 3;
      expected['throttled limit="failed_keys"'] = 3;
      assert.deepEqual(await readCounts(), expected);

      const { text } = await service.as(admin).get('/metrics');
      assert.ok(!text.includes(from) && !text.includes(one.keyIds.app) && !text.includes(expired.slice(4)));
    });
  });
});
