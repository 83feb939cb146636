import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { after, before, it } from 'node:test';
import fc from 'fast-check';
import { makeSecret } from '../../src/domain/secret.ts';
import {
  makeTenant,
  makeTwoTenants,
  message,
  onEveryEngine,
  type TestResponse,
  useService,
} from '../support/harness.ts';
import { shortOrLong } from '../support/long.ts';

/** The service reports here which requests it handled without the route. */
const fastLaneChannel = 'backscroll:fast-lane';
/** An unusual spelling with the same meaning, which sends the request to the route. */
const routeHeaders = { connection: 'Keep-Alive' };
const laneHeaders = { connection: 'keep-alive' };

const comparedHeaders = [
  'etag',
  'link',
  'cache-control',
  'content-type',
  'content-length',
  'www-authenticate',
  'retry-after',
  'ratelimit-policy',
  'ratelimit',
  'ratelimit-limit',
  'ratelimit-remaining',
  'ratelimit-reset',
  'x-request-id',
];
const comparedParts = ({ status, headers, text }: TestResponse) => ({
  status,
  text,
  headers: comparedHeaders.map((name) => [name, headers[name]]),
});

onEveryEngine('the fast lane and the route', (engine) => {
  const { one, other, admin, records } = makeTwoTenants();
  const completion = makeTenant('completion');
  const deleted = randomUUID();
  const expired = makeSecret('app');
  const revoked = makeSecret('app');
  const unusual = { app: 'an app, with space', key: makeSecret('app'), conversation: randomUUID() };
  const messages = Array.from({ length: 30 }, (_, at) => message(one.ids.conversation, at));
  const app = { workspace_id: one.ids.workspace, app_id: one.ids.app, kind: 'app', record: 'api_key' };

  const service = useService(engine, [], { RATE_LIMIT: '3', WRITE_LIMIT: '1' });
  before(async () => {
    // Responses contain what is left of a time window.
    service.freezeClock();
    await service.load([
      ...records,
      ...completion.records,
      ...messages,
      message(other.ids.conversation, 1),
      { record: 'conversation', id: deleted, app_id: one.ids.app, deleted: true },
      { ...app, name: 'expired', secret: expired, expires_at: 1 },
      { ...app, name: 'revoked', secret: revoked, revoked_at: 1 },
      { record: 'app', id: unusual.app, workspace_id: one.ids.workspace, name: 'unusual', mode: 'chat' },
      { ...app, app_id: unusual.app, name: 'unusual', secret: unusual.key },
      { record: 'conversation', id: unusual.conversation, app_id: unusual.app, user: 'a b' },
      message(unusual.conversation, 1),
    ]);
  });

  let laneRequests = 0;
  const countLaneRequest = () => {
    laneRequests += 1;
  };
  before(() => subscribe(fastLaneChannel, countLaneRequest));
  after(() => void unsubscribe(fastLaneChannel, countLaneRequest));

  const ids = [one.ids.conversation, other.ids.conversation, deleted, unusual.conversation, randomUUID(), ''];
  const firsts = [...messages.slice(0, 3).map(({ id }) => id), message(other.ids.conversation, 1).id, randomUUID()];
  const anyId = fc.constantFrom(...ids, ...firsts, ...ids.map((id) => id.toUpperCase()), 'no-uuid', '%00', 'a%2Fb');
  const likely = <T>(value: T, others: fc.Arbitrary<T>) =>
    fc.oneof({ weight: 4, arbitrary: fc.constant(value) }, { weight: 1, arbitrary: others });
  const values: Record<string, fc.Arbitrary<string>> = {
    conversation_id: likely(one.ids.conversation, anyId),
    first_id: fc.oneof(fc.constantFrom(...firsts), anyId),
    user: fc.constantFrom('ann', 'bob', 'a b', 'a%20b', 'a+b', '%E4%BD%A0', '', '%', '\u00e9'),
    limit: fc.constantFrom('1', '2', '20', '100', '0', '101', '007', '+1', '1.5', '1e1', ' ', 'x', ''),
    page_order: fc.constantFrom('newest_first', 'oldest_first', 'Newest_first', ''),
    unknown: fc.constantFrom('1', '"<>', 'x;y', '%22'),
    'first%5Fid': anyId,
    Limit: fc.constant('2'),
  };
  const pair = fc
    .constantFrom('first_id', 'user', 'limit', 'page_order', ...Object.keys(values))
    .chain((name) => (values[name] ?? fc.constant('')).map((value) => `${name}=${value}`));
  const oddPair = fc.constantFrom('', '&', '=', 'limit', '=x', '#first_id=x', ';limit=1', '?limit=1');
  const query = fc
    .tuple(
      values.conversation_id as fc.Arbitrary<string>,
      fc.array(fc.oneof({ weight: 9, arbitrary: pair }, { weight: 1, arbitrary: oddPair }), { maxLength: 4 }),
    )
    .map(([id, pairs]) => [`conversation_id=${id}`, ...pairs].join('&').replaceAll('\u00e9', '%C3%A9'));
  const keys = [other.keys.app, unusual.key, completion.keys.app, one.keys.knowledge, one.keys.writer, admin];
  const key = likely<string | undefined>(
    one.keys.app,
    fc.constantFrom(...keys, expired, revoked, makeSecret('app'), 'x', undefined),
  );
  const etagCase = fc.constantFrom('none', 'current', 'weak', 'among others', 'another', '*', 'no tag');
  const request = fc.record({
    query,
    key,
    etagCase,
    change: fc.nat(9),
    id: fc.constantFrom('one', 'a/b', 'no good', ''),
    // Requests with the key just before; the third is the last that is allowed.
    before: likely(0, fc.constantFrom(1, 2, 3, 4)),
  });

  /** Keys of chat apps. Requests with any other key go to the route. */
  const chatKeys = new Set<string | undefined>([one.keys.app, other.keys.app, unusual.key]);

  /** One request for each outcome, so that none is left to chance. */
  type Request = typeof request extends fc.Arbitrary<infer T> ? T : never;
  const plainRequest: Request = {
    ...{ query: `conversation_id=${one.ids.conversation}`, key: one.keys.app, etagCase: 'none' },
    ...{ change: 1, id: '', before: 0 },
  };
  const changes: Partial<Request>[] = [
    {},
    { etagCase: 'current' },
    { query: `conversation_id=${randomUUID()}` },
    { before: 4 },
    { query: 'limit=0' },
    { key: 'x' },
    { key: completion.keys.app, before: 4 },
  ];
  const examples = changes.map((change): [Request] => [{ ...plainRequest, ...change }]);

  type Sent = { path: 'lane' | 'route'; response: TestResponse };

  async function send(url: string, key: string | undefined, headers: object, earlier = 0): Promise<Sent> {
    // Failed keys are counted per minute, requests per second.
    service.advanceClock(61);
    const request = () => service.as(key).get(url, { 'x-request-id': 'same', ...headers });
    for (let times = 0; times < earlier; times += 1) await request();
    const before = laneRequests;
    const response = await request();
    return { path: laneRequests > before ? 'lane' : 'route', response };
  }

  it('return the same response, each to the requests that it should handle', async () => {
    const counts = new Map<string, number>();
    await fc.assert(
      fc.asyncProperty(request, async ({ query, key, etagCase, change, id, before }) => {
        if (change === 0) await service.load([message(one.ids.conversation, 100 + Math.floor(Math.random() * 50))]);
        const url = `/v1/messages?${query}`;
        const first = await send(url, key, routeHeaders);
        assert.equal(first.path, 'route');
        const tag = first.response.headers.etag;
        const tags: Record<string, object> = {
          none: {},
          current: tag ? { 'if-none-match': tag } : {},
          weak: tag ? { 'if-none-match': `W/${tag}` } : {},
          'among others': tag ? { 'if-none-match': `"x", ${tag},"y"` } : {},
          another: { 'if-none-match': tag?.replace(/"./, '"_') ?? '"x"' },
          '*': { 'if-none-match': '*' },
          'no tag': { 'if-none-match': 'x' },
        };
        const headers = { ...tags[etagCase], ...(['one', 'a/b'].includes(id) && { 'x-request-id': id }) };
        const byRoute = await send(url, key, { ...headers, ...routeHeaders }, before);
        assert.equal(byRoute.path, 'route');
        const isPlain = !new URL(url, service.base).search.includes(';');
        const path = chatKeys.has(key) && isPlain && first.response.status !== 400 ? 'lane' : 'route';
        // Twice: a page that is requested again soon comes from the cache.
        for (let times = 0; times < 2; times += 1) {
          const plain = await send(url, key, { ...headers, ...laneHeaders }, before);
          assert.equal(plain.path, path);
          assert.deepEqual(comparedParts(plain.response), comparedParts(byRoute.response));
        }
        const outcome = `${path} ${byRoute.response.status}`;
        counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
      }),
      { numRuns: shortOrLong(50, 3_000), examples },
    );
    const outcomes = ['lane 200', 'lane 304', 'lane 404', 'lane 429', 'route 400', 'route 401', 'route 429'];
    for (const outcome of outcomes) assert.ok(counts.has(outcome), `${outcome}: none`);
  });
});
