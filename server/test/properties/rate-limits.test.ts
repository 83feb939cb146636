import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import fc from 'fast-check';
import {
  makeWorld,
  message,
  ndjson,
  onEveryEngine,
  type Service,
  shortOrLong,
  startService,
  type TestResponse,
} from '../support/harness.ts';

const lines = { 'content-type': 'application/x-ndjson' };
const windowMillis = 1000;

/** What the documents promise, told in the plainest way: at most so many in a window that starts with the first. */
class Window {
  #until = Number.NEGATIVE_INFINITY;
  #count = 0;
  readonly max: number;

  constructor(max: number) {
    this.max = max;
  }

  left(now: number): number {
    return now >= this.#until ? this.max : Math.max(0, this.max - this.#count);
  }

  /** Whether one more may pass; it counts where it may. */
  take(now: number): boolean {
    if (this.left(now) === 0) return false;
    if (now >= this.#until) {
      this.#until = now + windowMillis;
      this.#count = 0;
    }
    this.#count += 1;
    return true;
  }
}

onEveryEngine('limits of keys, in any order of requests', (engine) => {
  const requestsMax = 5;
  const writesMax = 3;
  const { one, other, admin, records } = makeWorld();
  let service: Service;
  let now = 0;
  before(async () => {
    service = await startService(engine, { RATE_LIMIT: `${requestsMax}`, WRITE_LIMIT: `${writesMax}` });
    await service.load([...records, message(one.ids.conversation, 1)]);
    service.stopTime();
  });
  after(() => service.close());
  const pass = (millis: number) => {
    now += millis;
    service.passTime(millis / 1000);
  };

  const page = `/v1/messages?conversation_id=${one.ids.conversation}`;
  const readPage = (connection: string) => () =>
    service.request('GET', page, { key: one.keys.app, headers: { connection } });
  const readChunk = (tenant: typeof one) => () =>
    service.request('GET', tenant.chunkPath, { key: tenant.keys.knowledge });
  const edit = (tenant: typeof one) => () =>
    service.request('PATCH', tenant.chunkPath, { key: tenant.keys.knowledge, body: { content: 'text' } });
  const post = (key: string) => () =>
    service.request('POST', '/admin/records', {
      key,
      headers: lines,
      body: ndjson([message(one.ids.conversation, 2)]),
    });
  /** Each key with what it can ask, reads and writes. */
  const keys: Record<string, { reads: (() => Promise<TestResponse>)[]; writes: (() => Promise<TestResponse>)[] }> = {
    app: { reads: [readPage('keep-alive'), readPage('Keep-Alive')], writes: [] },
    one: { reads: [readChunk(one)], writes: [edit(one)] },
    other: { reads: [readChunk(other)], writes: [edit(other)] },
    writer: { reads: [], writes: [post(one.keys.writer)] },
    admin: { reads: [() => service.request('HEAD', '/admin/records', { key: admin })], writes: [post(admin)] },
  };
  const asks = Object.entries(keys).flatMap(([key, { reads, writes }]) => [
    ...reads.map((send) => ({ key, isWrite: false, send })),
    ...writes.map((send) => ({ key, isWrite: true, send })),
  ]);
  const ask = fc.constantFrom(...asks);
  const newModel = () =>
    new Map(
      Object.keys(keys).map((key) => [key, { requests: new Window(requestsMax), writes: new Window(writesMax) }]),
    );
  const windowsOf = (model: ReturnType<typeof newModel>, key: string) => model.get(key) ?? assert.fail(key);

  it('200 and 429: each answer is the one that the windows allow, and says what is left of them', async () => {
    let limited = 0;
    const pause = fc.oneof(
      { weight: 12, arbitrary: fc.constant(0) },
      { weight: 1, arbitrary: fc.constantFrom(1, 250, 499, 999, 1000, 1001) },
    );
    const steps = fc.array(fc.record({ millis: pause, ask }), { minLength: 10, maxLength: 60 });
    await fc.assert(
      fc.asyncProperty(steps, async (steps) => {
        pass(2 * windowMillis);
        const model = newModel();
        for (const { millis, ask } of steps) {
          pass(millis);
          const { requests, writes } = windowsOf(model, ask.key);
          const isAllowed = requests.take(now) && (!ask.isWrite || writes.take(now));
          const { status, headers } = await ask.send();
          assert.equal(status, isAllowed ? 200 : 429);
          if (!isAllowed) limited += 1;
          const left = [`"requests";r=${requests.left(now)};t=1`, `"writes";r=${writes.left(now)};t=1`];
          assert.equal(headers.ratelimit, left.slice(0, ask.isWrite ? 2 : 1).join(', '));
          const least = ask.isWrite ? Math.min(requests.left(now), writes.left(now)) : requests.left(now);
          assert.equal(headers['ratelimit-remaining'], `${least}`);
        }
      }),
      { numRuns: shortOrLong(30, 1_000) },
    );
    assert.ok(limited > 20, `${limited} were refused`);
  });

  it('200 and 429: of a crowd at one moment exactly so many pass', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(ask, { minLength: 20, maxLength: 60 }), async (crowd) => {
        pass(2 * windowMillis);
        const responses = await Promise.all(crowd.map(async (ask) => ({ ...ask, ...(await ask.send()) })));
        for (const key of Object.keys(keys)) {
          const mine = responses.filter((response) => response.key === key);
          assert.ok(mine.every(({ status }) => status === 200 || status === 429));
          const taken = mine.filter(({ body }) => body?.message !== `more than ${requestsMax} requests a second`);
          // HEAD has no body to say why.
          const admitted = taken.filter(({ status, text }) => status === 200 || text !== '');
          assert.equal(admitted.length, Math.min(requestsMax, mine.length), `requests of ${key}`);
          const writes = admitted.filter(({ isWrite }) => isWrite);
          const written = writes.filter(({ status }) => status === 200);
          assert.equal(written.length, Math.min(writesMax, writes.length), `writes of ${key}`);
        }
      }),
      { numRuns: shortOrLong(20, 1_000) },
    );
  });
});
