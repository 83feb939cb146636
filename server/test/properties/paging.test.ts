import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import { it } from 'node:test';
import fc from 'fast-check';
import { makeTenant, message, onEveryEngine, useService } from '../support/harness.ts';
import { shortOrLong } from '../support/long.ts';

type PageOrder = 'newest_first' | 'oldest_first';
type Write = { slot: number; created_at: number | undefined };
type Page = { ids: string[]; has_more: boolean; link: string | undefined };

/** A simple model of the contract: messages ordered by `created_at`, then by the order of their first import. */
class Model {
  readonly #messages = new Map<string, { created_at: number; sequence: number }>();

  write(id: string, created_at: number): void {
    const sequence = this.#messages.get(id)?.sequence ?? this.#messages.size;
    this.#messages.set(id, { created_at, sequence });
  }

  createdAt(id: string): number | undefined {
    return this.#messages.get(id)?.created_at;
  }

  newestFirst(): string[] {
    return [...this.#messages]
      .sort(([, a], [, b]) => b.created_at - a.created_at || b.sequence - a.sequence)
      .map(([id]) => id);
  }

  /** The expected page, newest first. */
  page(first_id: string | undefined, limit: number): { ids: string[]; has_more: boolean } {
    const all = this.newestFirst();
    const older = first_id === undefined ? all : all.slice(all.indexOf(first_id) + 1);
    return { ids: older.slice(0, limit), has_more: older.length > limit };
  }
}

/** Ids that are reproducible from a failing seed and unrelated to the order in time. */
function idOf(seed: number, slot: number): string {
  const hex = createHash('sha256').update(`${seed} ${slot}`).digest('hex');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*$/, '$1-$2-$3-$4-$5');
}

const slots = 40;
// Four seconds for up to forty messages: mostly ties.
const second = fc.integer({ min: 100, max: 103 });
const write: fc.Arbitrary<Write> = fc.record({
  slot: fc.nat(slots - 1),
  created_at: fc.option(second, { nil: undefined, freq: 4 }),
});
const history = fc.array(fc.array(write, { maxLength: 40 }), { minLength: 1, maxLength: 4 });
const limit = fc.oneof(fc.integer({ min: 1, max: 9 }), fc.constantFrom(10, 20, 39, 40, 99, 100));
const order = fc.constantFrom<PageOrder>('newest_first', 'oldest_first');
const seed = fc.nat();
/** Times of messages that are added between two pages. */
const arrivals = fc.array(fc.array(second, { maxLength: 3 }), { maxLength: 8 });

const runs = (short: number) => ({ numRuns: shortOrLong(short, 20 * short) });

onEveryEngine('paging', (engine) => {
  const tenant = makeTenant();
  const service = useService(engine, tenant.records);

  /** Creates a conversation and the model of its expected content. */
  async function start(idSeed: number) {
    const id = randomUUID();
    const model = new Model();
    await service.load([{ record: 'conversation', id, app_id: tenant.ids.app, created_at: 1 }]);
    let added = slots;
    return {
      id,
      model,
      /** Writes new and existing messages; only an existing message may omit its time. */
      async write(writes: readonly Write[]): Promise<void> {
        const records = writes.map(({ slot, created_at }) => {
          const messageId = idOf(idSeed, slot);
          const stored = model.createdAt(messageId);
          const time = created_at ?? stored ?? 100;
          model.write(messageId, time);
          const { created_at: _, ...untimed } = message(id, 0, { id: messageId, query: `${slot}` });
          return created_at === undefined && stored !== undefined ? untimed : { ...untimed, created_at: time };
        });
        await service.load(records);
      },
      /** Writes new messages only. */
      async add(times: readonly number[]): Promise<void> {
        if (times.length === 0) return;
        await this.write(
          times.map((created_at) => {
            added += 1;
            return { slot: added, created_at };
          }),
        );
      },
    };
  }

  /** One page as the client receives it, sorted newest first. */
  async function get(path: string, pageOrder: PageOrder): Promise<Page> {
    const response = await service.as(tenant.keys.app).get(path);
    assert.equal(response.status, 200, response.text);
    const ids: string[] = response.body.data.map(({ id }: { id: string }) => id);
    if (pageOrder === 'oldest_first') ids.reverse();
    const { link } = response.headers;
    assert.equal(link !== undefined, response.body.has_more, 'Link exactly with has_more');
    return { ids, has_more: response.body.has_more, link: link && /^<([^>]+)>; rel="next"$/.exec(`${link}`)?.[1] };
  }

  function pathOf(conversation_id: string, first_id: string | undefined, size: number, pageOrder: PageOrder): string {
    const query = new URLSearchParams({ conversation_id, limit: `${size}`, page_order: pageOrder });
    if (first_id !== undefined) query.set('first_id', first_id);
    return `/v1/messages?${query}`;
  }

  /** Messages that existed at the start were visited exactly once and in order; later ones at most once. */
  function assertVisited(visited: readonly string[], atStart: readonly string[]): void {
    assert.equal(new Set(visited).size, visited.length, 'a message was visited twice');
    const initialIds = new Set(atStart);
    assert.deepEqual(
      visited.filter((id) => initialIds.has(id)),
      atStart,
    );
  }

  it('200: paging back by the id of the oldest message visits every message once, in order', async () => {
    await fc.assert(
      fc.asyncProperty(
        seed,
        history,
        fc.array(limit, { minLength: 1, maxLength: 4 }),
        fc.array(order, { minLength: 1, maxLength: 4 }),
        arrivals,
        async (idSeed, batches, limits, orders, added) => {
          const conversation = await start(idSeed);
          for (const batch of batches) await conversation.write(batch);
          const atStart = conversation.model.newestFirst();
          const visited: string[] = [];
          for (let pageCount = 0, more = true; more; pageCount += 1) {
            // The client may change the size and the order of its pages between requests.
            const size = limits[pageCount % limits.length] ?? 1;
            const pageOrder = orders[pageCount % orders.length] ?? 'newest_first';
            const oldestId = visited.at(-1);
            const expected = conversation.model.page(oldestId, size);
            const page = await get(pathOf(conversation.id, oldestId, size, pageOrder), pageOrder);
            assert.deepEqual({ ids: page.ids, has_more: page.has_more }, expected);
            visited.push(...page.ids);
            more = page.has_more;
            await conversation.add(added[pageCount] ?? []);
          }
          assertVisited(visited, atStart);
        },
      ),
      runs(15),
    );
  });

  it('200: following Link visits every message once, in order, for both page orders', async () => {
    await fc.assert(
      fc.asyncProperty(seed, history, limit, order, arrivals, async (idSeed, batches, size, pageOrder, added) => {
        const conversation = await start(idSeed);
        for (const batch of batches) await conversation.write(batch);
        const atStart = conversation.model.newestFirst();
        const visited: string[] = [];
        let path: string | undefined = pathOf(conversation.id, undefined, size, pageOrder);
        for (let pageCount = 0; path !== undefined; pageCount += 1) {
          const expected = conversation.model.page(visited.at(-1), size);
          const page: Page = await get(path, pageOrder);
          assert.deepEqual({ ids: page.ids, has_more: page.has_more }, expected);
          visited.push(...page.ids);
          path = page.link;
          await conversation.add(added[pageCount] ?? []);
        }
        assertVisited(visited, atStart);
      }),
      runs(15),
    );
  });

  it('200: every page of any history follows the total order, also after messages changed their time', async () => {
    const step = fc.record({
      writes: fc.array(write, { maxLength: 12 }),
      from: fc.option(fc.nat(slots - 1), { nil: undefined }),
      size: limit,
      pageOrder: order,
    });
    await fc.assert(
      fc.asyncProperty(seed, fc.array(step, { minLength: 1, maxLength: 8 }), async (idSeed, steps) => {
        const conversation = await start(idSeed);
        for (const { writes, from, size, pageOrder } of steps) {
          await conversation.write(writes);
          const first_id = from === undefined ? undefined : idOf(idSeed, from);
          const path = pathOf(conversation.id, first_id, size, pageOrder);
          if (first_id !== undefined && conversation.model.createdAt(first_id) === undefined) {
            const response = await service.as(tenant.keys.app).get(path);
            assert.deepEqual(response.body, { status: 404, code: 'not_found', message: 'first message not exists' });
            continue;
          }
          const { ids, has_more } = await get(path, pageOrder);
          assert.deepEqual({ ids, has_more }, conversation.model.page(first_id, size));
        }
      }),
      runs(15),
    );
  });

  it('200: both page orders contain the same messages and the same has_more', async () => {
    await fc.assert(
      fc.asyncProperty(seed, history, limit, async (idSeed, batches, size) => {
        const conversation = await start(idSeed);
        for (const batch of batches) await conversation.write(batch);
        const key = tenant.keys.app;
        const newest = await service.as(key).get(pathOf(conversation.id, undefined, size, 'newest_first'));
        const oldest = await service.as(key).get(pathOf(conversation.id, undefined, size, 'oldest_first'));
        assert.deepEqual({ ...oldest.body, data: oldest.body.data.toReversed() }, newest.body);
      }),
      runs(8),
    );
  });

  it('200: pages deep inside thousands of messages of one second are correct', async () => {
    const count = shortOrLong(2_000, 50_000);
    const conversation_id = randomUUID();
    const ids = Array.from({ length: count }, () => randomUUID());
    await service.load([
      { record: 'conversation', id: conversation_id, app_id: tenant.ids.app, created_at: 1 },
      ...ids.map((id) => message(conversation_id, 1000, { id })),
    ]);
    // ids[0] was imported first, so it is the oldest.
    for (const at of [0, 1, 2, 99, 100, 101, 777, count / 2, count - 101, count - 2, count - 1]) {
      const page = await get(pathOf(conversation_id, ids[at], 100, 'newest_first'), 'newest_first');
      assert.deepEqual(page.ids, ids.slice(Math.max(0, at - 100), at).reverse(), `before ${at}`);
      assert.equal(page.has_more, at > 100, `has_more before ${at}`);
    }
    const visited: string[] = [];
    let path: string | undefined = pathOf(conversation_id, undefined, 100, 'oldest_first');
    while (path !== undefined) {
      const page: Page = await get(path, 'oldest_first');
      visited.push(...page.ids);
      path = page.link;
    }
    assert.ok(visited.join() === ids.toReversed().join(), 'all pages together contain each message once, in order');
  });
});
