import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { before, it } from 'node:test';
import fc from 'fast-check';
import { type ExportedRecord, Follower } from '../../../experiments/support/follower.ts';
import { makeSecret } from '../../src/domain/secret.ts';
import { makeTwoTenants, message, onEveryEngine, type Service, type Tenant, useService } from '../support/harness.ts';
import { shortOrLong } from '../support/long.ts';

type Target = { conversation: number; slot: number; tenant: number };
type Action = Target & { kind: keyof ReturnType<typeof actionsOn>['actions'] };
type Read = { kind: 'read'; follower: number; limit: number; isLost: boolean };

const few = fc.constantFrom(0, 0, 0, 1);
/** `tenant`: in whose app the conversation is created if it does not exist. */
const target = { conversation: few, slot: few, tenant: fc.nat(1) };
const often = ['write', 'erase', 'undelete'];
const kinds = [...often, ...often, 'delete', 'purge', 'rename', 'rate', 'chunk'];
const action = fc.record({ kind: fc.constantFrom(...kinds), ...target }) as fc.Arbitrary<Action>;
const read: fc.Arbitrary<Read> = fc.record({
  kind: fc.constant('read'),
  follower: fc.nat(3),
  limit: fc.constantFrom(1, 1, 2, 1000),
  isLost: fc.constantFrom(false, false, false, true),
});

/** Two conversations with two messages each. One that was purged may be created again, also in the app of the other tenant. */
function actionsOn(service: Service, tenants: readonly Tenant[], admin: string) {
  const conversations = [0, 1].map(() => ({
    id: randomUUID(),
    messages: [randomUUID(), randomUUID()],
    home: undefined as Tenant | undefined,
  }));
  /** Nothing, if the conversation does not exist. */
  const on =
    (act: (id: string, home: Tenant, message_id: string) => Promise<unknown>) =>
    async ({ conversation, slot }: Target) => {
      const { id, messages, home } = conversations[conversation] ?? assert.fail();
      if (home !== undefined) await act(id, home, messages[slot] ?? assert.fail());
    };
  const recordOf = (id: string, { ids }: Tenant, more = {}) => ({
    ...{ record: 'conversation', id, app_id: ids.app, user: 'ann' },
    ...more,
  });
  const send = ({ keys }: Tenant, method: string, path: string, body?: object) =>
    service.request(method, path, { key: path.startsWith('/admin') ? admin : keys.app, body });
  const write = on((id, home, message_id) =>
    service.load([recordOf(id, home), message(id, 1, { id: message_id, answer: randomUUID() })]),
  );
  const actions = {
    write: (where: Target) => {
      const conversation = conversations[where.conversation] ?? assert.fail();
      conversation.home ??= tenants[where.tenant];
      return write(where);
    },
    erase: on((id, home, message_id) =>
      send(home, 'DELETE', `/admin/apps/${home.ids.app}/conversations/${id}/messages/${message_id}`),
    ),
    delete: on((id, home) => send(home, 'DELETE', `/v1/conversations/${id}`)),
    undelete: on((id, home) => service.load([recordOf(id, home, { deleted: false })])),
    purge: async ({ conversation }: Target) => {
      const purged = conversations[conversation] ?? assert.fail();
      const eraser = { action: 'purge', key_id: null, now: 1 } as const;
      await service.store.erasure.erase({ conversation_id: purged.id }, eraser);
      purged.home = undefined;
    },
    rename: on((id, home) => send(home, 'POST', `/v1/conversations/${id}/name`, { name: randomUUID() })),
    rate: on((_, home, message_id) =>
      send(home, 'POST', `/v1/messages/${message_id}/feedbacks`, {
        rating: 'like',
        content: randomUUID(),
        user: 'ann',
      }),
    ),
    chunk: ({ slot, tenant }: Target) => {
      const { chunk: id, segment: segment_id } = (tenants[tenant] ?? assert.fail()).ids;
      const content = randomUUID();
      return service.load([{ record: 'child_chunk', id, segment_id, position: 1, content, deleted: slot === 1 }]);
    },
  };
  return { conversations, actions };
}

onEveryEngine('a follower of the change feed that applies what is gone has what an export has', (engine) => {
  const { one, other, admin, records } = makeTwoTenants();
  const appKey = makeSecret('feed');
  const service = useService(engine);
  before(async () => {
    const { app: app_id, workspace: workspace_id } = one.ids;
    const key = { record: 'api_key', kind: 'feed', name: 'of an app', workspace_id, app_id, secret: appKey };
    await service.load([...records, key]);
  });

  async function check(steps: readonly (Action | Read)[]): Promise<void> {
    const { conversations, actions } = actionsOn(service, [one, other], admin);
    const follow = (key: string, query = {}) => new Follower(() => service.base, key, query);
    /** A record names its parent. */
    const isOfOne = (record: ExportedRecord) => {
      const own = conversations.filter(({ home }) => home === one).map(({ id }) => id);
      return [...Object.values(one.ids), ...own].some((id) => Object.values(record).includes(id));
    };
    const isOfApp = ({ record }: ExportedRecord) => ['app', 'conversation', 'message'].includes(record);
    const followers: [Follower, (record: ExportedRecord) => boolean][] = [
      [follow(admin), () => true],
      [follow(admin, { kinds: 'message' }), ({ record }) => record === 'message'],
      [follow(one.keys.feed), isOfOne],
      [follow(appKey), (record) => isOfOne(record) && isOfApp(record)],
    ];
    const catchUp = async (follower: Follower) => {
      while ((await follower.step(1000, false)) !== false);
    };
    try {
      // The second one begins with its first step, with the initial snapshot.
      for (const [index, [follower]] of followers.entries()) if (index !== 1) await catchUp(follower);
      for (const step of steps) {
        if (step.kind === 'read') await followers[step.follower]?.[0].step(step.limit, step.isLost);
        else await actions[step.kind](step);
      }
      const exported = (await service.as(admin).get('/admin/records')).text;
      for (const [follower, mayRead] of followers) {
        await catchUp(follower);
        assert.deepEqual(await follower.differences(exported, mayRead), []);
        assert.deepEqual(follower.unexpected, []);
      }
    } finally {
      for (const [follower] of followers) follower.close();
      for (const conversation of [0, 1]) await actions.purge({ conversation, slot: 0, tenant: 0 });
    }
  }

  const first = { conversation: 0, slot: 0, tenant: 0 };
  const readOne = { kind: 'read', follower: 0, limit: 1, isLost: false } as const;

  it('if it reads that a message was erased while the conversation is deleted, and it is undeleted then', () =>
    check([
      { ...first, kind: 'write' },
      { ...readOne, limit: 1000 },
      { ...first, kind: 'erase' },
      { ...first, kind: 'chunk' },
      { ...first, kind: 'delete' },
      readOne,
      { ...first, kind: 'undelete' },
    ]));

  it('if a conversation is purged, created in another app, and purged there', () =>
    check([
      { ...first, kind: 'write', tenant: 1 },
      { ...first, kind: 'purge' },
      { ...readOne, limit: 1000, follower: 2 },
      { ...first, kind: 'write' },
      { ...readOne, limit: 1000, follower: 2 },
      { ...first, kind: 'purge' },
      { ...first, kind: 'write', tenant: 1 },
    ]));

  it('whatever is written, erased, deleted and restored, and whenever it reads', () =>
    fc.assert(fc.asyncProperty(fc.array(fc.oneof(action, read), { minLength: 20, maxLength: 60 }), check), {
      numRuns: shortOrLong(engine === 'sqlite' ? 12 : 6, 300),
    }));
});
