import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Follower } from '../../../experiments/support/follower.ts';
import { purge } from '../../src/domain/erasure/purge.ts';
import { indexDifferences } from '../search/index-differences.ts';
import { makeTwoTenants, message, newDatabaseUrl, type Service, startService } from '../support/harness.ts';
import { until } from '../support/until.ts';
import { nodesOf, onEveryNode, onNode, workerUrls } from './cluster.ts';
import { type Cut, NodeProxy } from './node-proxy.ts';

/** Of each moment of a cut on the node of the head. */
const rounds = 8;

const countPrepared = `SELECT COUNT(*)::int AS n FROM pg_prepared_xacts WHERE database = current_database()`;

/** A write on several nodes is committed on one after another. Here the connection to one of them is cut in between. */
describe('the change feed and the search, if a commit on several nodes is interrupted', () => {
  const { one, admin, records } = makeTwoTenants();
  const proxies: NodeProxy[] = [];
  const services: Service[] = [];
  const followers: Follower[] = [];
  let url: string;
  let remove: () => Promise<void>;
  /** Reads while a part of a write was not visible. */
  let readsInDoubt = 0;

  /** Whether the nodes encrypt their connections to each other is a setting of the server. */
  const setEncryption = (mode: 'SET' | 'RESET') =>
    onEveryNode('postgres', async (client) => {
      await client.query(`ALTER SYSTEM ${mode} citus.node_conninfo ${mode === 'SET' ? `= 'sslmode=prefer'` : ''}`);
      await client.query('SELECT pg_reload_conf()');
    });
  const database = () => new URL(url).pathname.slice(1);
  const prepared = async () =>
    (await onEveryNode(database(), async (client) => (await client.query(countPrepared)).rows[0].n)).reduce(
      (sum, n) => sum + n,
      0,
    );
  const recover = () => onEveryNode(database(), (client) => client.query('SELECT recover_prepared_transactions()'));

  before(async () => {
    await setEncryption('SET');
    ({ url, remove } = await newDatabaseUrl('postgres'));
    const first = await startService('postgres', {}, url);
    await first.load(records);
    await first.close();
    for (const node of (await nodesOf(url)).filter(({ isCoordinator }) => !isCoordinator)) {
      const proxy = await NodeProxy.start(node, { readsStatements: true });
      proxies.push(proxy);
      await onNode(url, async (client) => {
        await client.query('SET allow_system_table_mods = on');
        await client.query('UPDATE pg_dist_node SET nodeport = $1 WHERE nodeport = $2', [proxy.port, node.port]);
      });
    }
    for (const address of [url, ...(await workerUrls(url)).slice(0, 1)]) {
      services.push(await startService('postgres', {}, address));
    }
    for (const { base } of services) followers.push(new Follower(() => base, admin));
    await Promise.all(followers.map((follower) => follower.catchUp()));
  });
  after(async () => {
    for (const follower of followers) follower.close();
    for (const service of services) await service.close();
    for (const proxy of proxies) proxy.close();
    await remove?.();
    await setEncryption('RESET');
  });

  /** Conversations of one user in a new app: rows on several shards, and on every node. */
  const newRecords = (app_id: string, user: string) => {
    const app = { record: 'app', id: app_id, workspace_id: one.ids.workspace, name: user, mode: 'chat' };
    const conversations = Array.from({ length: 6 }, () => randomUUID());
    return [
      app,
      ...conversations.map((id) => ({ record: 'conversation', id, app_id, user, created_at: 1 })),
      ...conversations.flatMap((id) => [message(id, 1), message(id, 2)]),
    ];
  };

  async function readMeanwhile(): Promise<void> {
    const [service] = services;
    if ((await prepared()) > 0) readsInDoubt += 1;
    await Promise.all(followers.map((follower) => follower.step()));
    await service?.index();
    await Promise.all(followers.map((follower) => follower.step()));
  }

  async function assertComplete(): Promise<void> {
    const [service] = services;
    await recover();
    assert.equal(await prepared(), 0);
    const exported = (await service?.as(admin).get('/admin/records'))?.text ?? '';
    for (const follower of followers) {
      await follower.catchUp();
      assert.deepEqual(await follower.differences(exported), []);
      assert.deepEqual(follower.unexpected, []);
    }
    await service?.index();
    const reindex = async () => {
      await service?.store.search.reset('other rules');
      await service?.index();
    };
    assert.deepEqual(await indexDifferences('postgres', url, reindex), []);
  }

  const cuts = ['PREPARE TRANSACTION', 'COMMIT PREPARED'].flatMap((statement): Cut[] => [
    { statement, moment: 'before' },
    { statement, moment: 'after' },
  ]);
  for (const { statement, moment } of cuts)
    it(`have every change of imports and purges: cut ${moment} ${statement}, on each node`, async () => {
      const [service] = services;
      for (const proxy of proxies) {
        const [app_id, user] = [randomUUID(), randomUUID()];
        const writes = [
          () => service?.load(newRecords(app_id, user)),
          () => service && purge(service.store, { app_id, user }, { key_id: null, now: 1 }),
        ];
        for (const write of writes) {
          const before = proxy.cuts;
          proxy.cutAt({ statement, moment });
          // A write that fails is not acknowledged, and may be stored or not.
          await Promise.resolve(write()).catch((error: { code?: string }) =>
            assert.equal(error.code, 'service_unavailable'),
          );
          assert.equal(proxy.cuts, before + 1, 'the connection was cut');
          await readMeanwhile();
          await recover();
        }
      }
      await assertComplete();
    });

  it('miss nothing if commits are cut on the node of the head, at any pace, and keep their cursors and the index', async () => {
    const head = await onNode(url, async (client) => {
      const { rows } = await client.query(
        `SELECT nodeport FROM citus_shards WHERE table_name = 'changes_head'::regclass`,
      );
      return proxies.find(({ port }) => port === rows[0].nodeport) ?? assert.fail('the head is on a worker');
    });
    // A request waits for what an interrupted commit has locked.
    const service = await startService('postgres', { DATABASE_TIMEOUT: '2000' }, url);
    services.push(service);
    await service.index();
    let resets = 0;
    const { reset } = service.store.search;
    service.store.search.reset = (rules) => {
      resets += 1;
      return reset.call(service.store.search, rules);
    };
    let isWriting = true;
    const paced = [200, 1000, 6000].map((millis) => ({ millis, follower: new Follower(() => service.base, admin) }));
    followers.push(...paced.map(({ follower }) => follower));
    for (const { follower } of paced) await follower.catchUp();
    const following = paced.map(async ({ millis, follower }) => {
      while (isWriting) {
        while ((await follower.step()) === true);
        await sleep(millis);
      }
    });
    const indexing = (async () => {
      while (isWriting) {
        await service.index().catch(() => undefined);
        await sleep(200);
      }
    })();
    try {
      for (const moment of ['before', 'after'] as const) {
        for (let round = 0; round < rounds; round += 1) {
          const before = head.cuts;
          await until(() => service.load(newRecords(randomUUID(), `user ${round}`)).then(Boolean, () => false));
          head.cutAt({ statement: 'COMMIT PREPARED', moment });
          await until(async () => head.cuts > before);
          if ((await prepared()) > 0) readsInDoubt += 1;
          await sleep(1_000);
          await recover();
        }
      }
    } finally {
      isWriting = false;
      await Promise.all([...following, indexing]);
    }
    await assertComplete();
    assert.equal(resets, 0);
  });

  it('were read while commits were incomplete', () => assert.ok(readsInDoubt > 0));
});
