import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import { before, it } from 'node:test';
import fc from 'fast-check';
import { makeTenant, message, onEveryEngine, useService } from '../support/harness.ts';
import { shortOrLong } from '../support/long.ts';

const orders = ['created_at', '-created_at', 'updated_at', '-updated_at'] as const;
type Change = { kind: 'create' | 'append' | 'rename' | 'delete'; slot: number; at: number };
/** `during` happens while a page is read, `between` to the last conversation of the page before the next one is read. */
type Step = { during: Change[]; between: Change[] };
/** `movedAt` is the step in which `updated_at` last changed; -1 before the scroll. */
type Listed = { id: string; updated_at: number; isDeleted: boolean; movedAt: number };

/** A new id whose place among the others is reproducible from a failing seed and unrelated to the order in time. */
function idOf(seed: number, slot: number): string {
  const start = createHash('sha256').update(`${seed} ${slot}`).digest('hex').slice(0, 8);
  return start + randomUUID().slice(8);
}

/** The service's clock, in seconds: the time of each rename. */
const now = 103;
// A few seconds for up to thirty conversations: mostly ties.
const second = fc.integer({ min: 100, max: 105 });
const change: fc.Arbitrary<Change> = fc.record({
  kind: fc.constantFrom('create', 'append', 'rename', 'delete'),
  slot: fc.nat(29),
  at: second,
});
const stepOfChanges: fc.Arbitrary<Step> = fc.record({
  during: fc.array(change, { maxLength: 3 }),
  between: fc.array(change, { maxLength: 1 }),
});

/** A seed of ids, times of creation, the limit, whether the list is of one user, and what changes at each page. */
const scrolls = [
  fc.nat(),
  fc.array(second, { minLength: 1, maxLength: 25 }),
  fc.integer({ min: 1, max: 5 }),
  fc.boolean(),
  fc.array(stepOfChanges, { maxLength: 8 }),
] as const;

onEveryEngine('scrolling through conversations', (engine) => {
  const service = useService(engine);
  before(async () => {
    service.freezeClock(now * 1000);
  });

  /** An app of its own, so that the list without a user has only these conversations. */
  async function start(seed: number, times: readonly number[]) {
    const tenant = makeTenant();
    const key = tenant.keys.app;
    const user = 'ann';
    const listed: Listed[] = [];
    const create = (at: number, movedAt: number) => {
      const id = idOf(seed, listed.length);
      listed.push({ id, updated_at: at, isDeleted: false, movedAt });
      return { record: 'conversation', id, app_id: tenant.ids.app, user, created_at: at };
    };
    const { conversation, app } = tenant.ids;
    const unused = { record: 'conversation', id: conversation, app_id: app, deleted: true };
    await service.load(tenant.records);
    await service.load([unused, ...times.map((at) => create(at, -1))]);
    const write = async (method: string, path: string, body: object) => {
      const { status, text } = await service.request(method, `/v1/conversations/${path}`, { key, body });
      assert.ok(status === 200 || status === 204, text);
    };
    return {
      key,
      user,
      listed,
      /** Makes a change, and records whether the conversation moved in a list by `updated_at`. */
      async apply({ kind, at }: Change, target: Listed | undefined, step: number): Promise<void> {
        if (kind === 'create') return void (await service.load([create(at, step)]));
        if (target === undefined || target.isDeleted) return;
        const { id } = target;
        const updated_at = Math.max(target.updated_at, kind === 'append' ? at : now);
        if (kind === 'delete') {
          target.isDeleted = true;
          return write('DELETE', id, { user });
        }
        if (updated_at > target.updated_at) Object.assign(target, { updated_at, movedAt: step });
        if (kind === 'append') return void (await service.load([message(id, at)]));
        return write('POST', `${id}/name`, { name: `step ${step}`, user });
      },
    };
  }

  for (const order of orders) {
    it(`200: sort_by=${order} by Link lists a conversation that did not move exactly once`, async () => {
      const isByUpdate = order.endsWith('updated_at');
      await fc.assert(
        fc.asyncProperty(...scrolls, async (seed, times, limit, hasUser, changes) => {
          const { key, user, listed, apply } = await start(seed, times);
          const atStart = [...listed];
          const visited: string[] = [];
          const query = new URLSearchParams({ limit: `${limit}`, sort_by: order, ...(hasUser && { user }) });
          let path: string | undefined = `/v1/conversations?${query}`;
          for (let step = 0; path !== undefined; step += 1) {
            const { during, between } = changes[step] ?? { during: [], between: [] };
            const response = service.as(key).get(path);
            for (const one of during) await apply(one, listed[one.slot % listed.length], step);
            const { status, body, headers, text }: Awaited<typeof response> = await response;
            assert.equal(status, 200, text);
            visited.push(...body.data.map(({ id }: { id: string }) => id));
            path = /^<(.*)>; rel="next"$/.exec(String(headers.link))?.[1];
            assert.equal(path !== undefined, body.has_more);
            const last = listed.find(({ id }) => id === visited.at(-1));
            for (const one of between) await apply(one, last, step);
          }
          const unmoved = atStart.filter(({ isDeleted, movedAt }) => !isDeleted && !(isByUpdate && movedAt >= 0));
          for (const { id } of unmoved) assert.equal(visited.filter((one) => one === id).length, 1, id);
        }),
        { numRuns: shortOrLong(4, 250) },
      );
    });

    it(`200: sort_by=${order} never loses a conversation that did not move`, async () => {
      const isByUpdate = order.endsWith('updated_at');
      /** A cursor that moves to the end of the list skips the conversations before it: the client uses an earlier one. */
      const losesByMove = order === 'updated_at';
      await fc.assert(
        fc.asyncProperty(...scrolls, async (seed, times, limit, hasUser, changes) => {
          const { key, user, listed, apply } = await start(seed, times);
          const atStart = [...listed];
          const visited: { row: Listed; step: number }[] = [];
          for (let step = 0, hasMore = true; hasMore; step += 1) {
            const cursor = visited.findLast(
              ({ row, step }) => !row.isDeleted && !(losesByMove && row.movedAt >= step),
            )?.row;
            const query = new URLSearchParams({ limit: `${limit}`, sort_by: order });
            if (cursor !== undefined) query.set('last_id', cursor.id);
            if (hasUser) query.set('user', user);
            const { during, between } = changes[step] ?? { during: [], between: [] };
            const changeDuringPage = async () => {
              for (const one of during) {
                const target = listed[one.slot % listed.length];
                // If the cursor is deleted before the page is read, the response is 404.
                if (target !== cursor || (one.kind !== 'delete' && !losesByMove)) await apply(one, target, step);
              }
            };
            const path = `/v1/conversations?${query}`;
            const [{ status, body, text }] = await Promise.all([service.as(key).get(path), changeDuringPage()]);
            assert.equal(status, 200, text);
            for (const { id } of body.data) {
              const row = listed.find((one) => one.id === id);
              assert.ok(row, 'an unknown conversation');
              visited.push({ row, step });
            }
            hasMore = body.has_more;
            for (const one of between) await apply(one, visited.at(-1)?.row, step);
          }
          const unmoved = atStart.filter(({ isDeleted, movedAt }) => !isDeleted && !(isByUpdate && movedAt >= 0));
          for (const row of unmoved) {
            const visits = visited.filter((one) => one.row === row).length;
            assert.ok(visits > 0, `${row.id} was lost`);
            if (!isByUpdate) assert.equal(visits, 1, `${row.id} was repeated`);
          }
        }),
        { numRuns: shortOrLong(4, 250) },
      );
    });
  }
});
