import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import fc from 'fast-check';
import { makeTwoTenants, message, onOneEngine, type TestResponse, useService } from '../support/harness.ts';
import { shortOrLong } from '../support/long.ts';

const windowMillis = 1000;

/** A simple model of the limit: at most `max` requests in a window that starts with the first one. */
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

  /** Whether one more request is allowed; counts it if so. */
  tryCount(now: number): boolean {
    if (this.left(now) === 0) return false;
    if (now >= this.#until) {
      this.#until = now + windowMillis;
      this.#count = 0;
    }
    this.#count += 1;
    return true;
  }
}

onOneEngine('limits per key, in any order of requests', (engine) => {
  const requestsMax = 5;
  const writesMax = 3;
  const { one, other, admin, records } = makeTwoTenants();
  let now = 0;
  const service = useService(engine, [...records, message(one.ids.conversation, 1)], {
    RATE_LIMIT: `${requestsMax}`,
    WRITE_LIMIT: `${writesMax}`,
  });
  before(async () => {
    service.freezeClock();
  });
  const advance = (millis: number) => {
    now += millis;
    service.advanceClock(millis / 1000);
  };

  const page = `/v1/messages?conversation_id=${one.ids.conversation}`;
  const readPage = (connection: string) => () => service.as(one.keys.app).get(page, { connection });
  const readChunk = (tenant: typeof one) => () => service.as(tenant.keys.knowledge).get(tenant.chunkPath);
  const edit = (tenant: typeof one) => () =>
    service.as(tenant.keys.knowledge).patch(tenant.chunkPath, { content: 'text' });
  const post = (key: string) => () => service.as(key).append(message(one.ids.conversation, 2));
  /** Each key with its read and write requests. */
  const keys: Record<string, { reads: (() => Promise<TestResponse>)[]; writes: (() => Promise<TestResponse>)[] }> = {
    app: { reads: [readPage('keep-alive'), readPage('Keep-Alive')], writes: [] },
    one: { reads: [readChunk(one)], writes: [edit(one)] },
    other: { reads: [readChunk(other)], writes: [edit(other)] },
    writer: { reads: [], writes: [post(one.keys.writer)] },
    admin: { reads: [() => service.request('HEAD', '/admin/records', { key: admin })], writes: [post(admin)] },
  };
  const allRequests = Object.entries(keys).flatMap(([key, { reads, writes }]) => [
    ...reads.map((send) => ({ key, isWrite: false, send })),
    ...writes.map((send) => ({ key, isWrite: true, send })),
  ]);
  const request = fc.constantFrom(...allRequests);
  const newModel = () =>
    new Map(
      Object.keys(keys).map((key) => [key, { requests: new Window(requestsMax), writes: new Window(writesMax) }]),
    );
  const windowsOf = (model: ReturnType<typeof newModel>, key: string) => model.get(key) ?? assert.fail(key);

  it('200 and 429: each response follows from the windows and reports what is left of them', async () => {
    let limited = 0;
    const pause = fc.oneof(
      { weight: 12, arbitrary: fc.constant(0) },
      { weight: 1, arbitrary: fc.constantFrom(1, 250, 499, 999, 1000, 1001) },
    );
    const steps = fc.array(fc.record({ millis: pause, request }), { minLength: 30, maxLength: 60 });
    await fc.assert(
      fc.asyncProperty(steps, async (steps) => {
        advance(2 * windowMillis);
        const model = newModel();
        for (const { millis, request } of steps) {
          advance(millis);
          const { requests, writes } = windowsOf(model, request.key);
          const isAllowed = requests.tryCount(now) && (!request.isWrite || writes.tryCount(now));
          const { status, headers } = await request.send();
          assert.equal(status, isAllowed ? 200 : 429);
          if (!isAllowed) limited += 1;
          const left = [`"requests";r=${requests.left(now)};t=1`, `"writes";r=${writes.left(now)};t=1`];
          assert.equal(headers.ratelimit, left.slice(0, request.isWrite ? 2 : 1).join(', '));
          const least = request.isWrite ? Math.min(requests.left(now), writes.left(now)) : requests.left(now);
          assert.equal(headers['ratelimit-remaining'], `${least}`);
        }
      }),
      { numRuns: shortOrLong(5, 250) },
    );
    assert.ok(limited > 0);
  });

  it('200 and 429: of a burst of concurrent requests, exactly as many as the limit are allowed', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(request, { minLength: 20, maxLength: 60 }), async (burst) => {
        advance(2 * windowMillis);
        const responses = await Promise.all(burst.map(async (request) => ({ ...request, ...(await request.send()) })));
        for (const key of Object.keys(keys)) {
          const ofKey = responses.filter((response) => response.key === key);
          assert.ok(ofKey.every(({ status }) => status === 200 || status === 429));
          const withinRequestLimit = ofKey.filter(
            ({ body }) => body?.message !== `more than ${requestsMax} requests a second`,
          );
          // A rejected HEAD has no body with a message.
          const allowed = withinRequestLimit.filter(({ status, text }) => status === 200 || text !== '');
          assert.equal(allowed.length, Math.min(requestsMax, ofKey.length), `requests of ${key}`);
          const writes = allowed.filter(({ isWrite }) => isWrite);
          const allowedWrites = writes.filter(({ status }) => status === 200);
          assert.equal(allowedWrites.length, Math.min(writesMax, writes.length), `writes of ${key}`);
        }
      }),
      { numRuns: shortOrLong(4, 250) },
    );
  });
});
