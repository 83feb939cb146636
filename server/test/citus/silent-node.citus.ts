import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { dirname } from 'node:path';
import { after, before, describe, it } from 'node:test';
import {
  chunkPath,
  makeTenant,
  makeTwoTenants,
  message,
  newDatabaseUrl,
  type Service,
  startService,
} from '../support/harness.ts';
import { until } from '../support/until.ts';
import { nodesOf, onNode, workerUrls } from './cluster.ts';
import { NodeProxy } from './node-proxy.ts';

const timeoutMillis = 5_000;

/** One worker accepts connections and does not respond, as after SIGSTOP. */
describe('while a worker hangs', () => {
  const { one, admin, records } = makeTwoTenants();
  const tenants = Array.from({ length: 24 }, () => makeTenant());
  type Tenant = (typeof tenants)[number];
  let service: Service;
  let proxy: NodeProxy;
  let remove: () => Promise<void>;
  /** Distribution values on the node that hangs. */
  let silent: Set<string>;

  before(async () => {
    const database = await newDatabaseUrl('postgres');
    const { url } = database;
    remove = database.remove;
    const first = await startService('postgres', {}, url);
    await first.load([
      ...records,
      ...tenants.flatMap((tenant) => [...tenant.records, message(tenant.ids.conversation, 1)]),
    ]);
    await first.close();
    const node = (await nodesOf(url)).at(-1);
    if (node === undefined) throw new Error('no worker');
    proxy = await NodeProxy.start(node);
    silent = await onNode(url, async (client) => {
      await client.query('SET allow_system_table_mods = on');
      await client.query('UPDATE pg_dist_node SET nodeport = $1 WHERE nodeport = $2', [proxy.port, node.port]);
      const { rows } = await client.query(
        `SELECT value FROM unnest($1::text[]) AS value
         JOIN pg_dist_placement p ON p.shardid = get_shard_id_for_distribution_column('conversations', value)
         JOIN pg_dist_node n ON n.groupid = p.groupid WHERE n.nodeport = $2`,
        [tenants.flatMap(({ ids }) => [ids.conversation, ids.dataset]), proxy.port],
      );
      return new Set(rows.map(({ value }) => value));
    });
    service = await startService('postgres', { DATABASE_TIMEOUT: `${timeoutMillis}` }, url);
  });
  after(async () => {
    proxy?.setSilent(false);
    await service?.close();
    proxy?.close();
    await remove?.();
  });

  const page = ({ ids, keys }: Tenant) => service.as(keys.app).get(`/v1/messages?conversation_id=${ids.conversation}`);
  const rename = ({ ids, keys }: Tenant) =>
    service.as(keys.app).post(`/v1/conversations/${ids.conversation}/name`, { name: randomUUID() });
  const append =
    (count: number) =>
    ({ ids, keys }: Tenant) =>
      service.as(keys.writer).append(...Array.from({ length: count }, (_, at) => message(ids.conversation, at)));
  const edit = ({ ids, keys }: Tenant) => service.as(keys.knowledge).patch(chunkPath(ids), { content: randomUUID() });
  const create = ({ ids, keys }: Tenant) =>
    service.as(keys.knowledge).post(dirname(chunkPath(ids)), { content: randomUUID() });
  const ofConversation = ({ ids }: Tenant) => ids.conversation;
  const ofDataset = ({ ids }: Tenant) => ids.dataset;

  it('503: no request waits longer than DATABASE_TIMEOUT, the wait for a connection included', async () => {
    const affected = tenants.filter((tenant) => silent.has(ofConversation(tenant)));
    assert.ok(affected.length > 2 && affected.length < tenants.length - 2);
    proxy.setSilent(true);
    const requests = Array.from({ length: 32 }, async (_, at) => {
      const start = performance.now();
      const { status } = await page(affected[at % affected.length] as Tenant);
      return { status, millis: performance.now() - start };
    });
    const replies = await Promise.all(requests);
    assert.deepEqual(new Set(replies.map(({ status }) => status)), new Set([503]));
    const slowest = Math.max(...replies.map(({ millis }) => millis));
    assert.ok(slowest < 1.8 * timeoutMillis, `${slowest} ms`);
  });

  const operations = { page, rename, edit, create, 'append 1 message': append(1), 'append 20 messages': append(20) };
  for (const [name, request] of Object.entries(operations))
    it(`200 on the other nodes, and 503 at once: ${name}`, async () => {
      const shardOf = request === edit || request === create ? ofDataset : ofConversation;
      const start = performance.now();
      // One after another: if each of the affected ones waited, they would take a minute.
      for (const tenant of tenants) {
        const reply = await request(tenant);
        assert.equal(reply.status, silent.has(shardOf(tenant)) ? 503 : 200, reply.text);
        if (reply.status === 503) assert.match(reply.headers['retry-after'] ?? '', /^[1-9]/);
      }
      const millis = performance.now() - start;
      assert.ok(millis < 4 * timeoutMillis, `${millis} ms`);
    });

  it('200 for what is on every node, 503 at once for what needs all nodes', async () => {
    const start = performance.now();
    const key = one.keys.app;
    for (let times = 0; times < 10; times += 1) {
      assert.equal((await service.request('GET', '/health/ready')).status, 200);
      assert.equal((await service.as(key).get('/v1/conversations')).status, 503);
      assert.equal((await service.as(admin).get('/admin/changes')).status, 503);
    }
    const millis = performance.now() - start;
    assert.ok(millis < 4 * timeoutMillis, `${millis} ms`);
  });

  it('/metrics names the node that hangs, the others respond', async () => {
    const { text } = await until(async () => {
      const metrics = await service.as(admin).get('/metrics');
      // On a busy machine, another node may take too long to respond, too.
      return metrics.text.match(/^backscroll_node_up\{.*\} 1$/gm)?.length === 2 && metrics;
    });
    const node = `127.0.0.1:${proxy.port}`;
    assert.ok(text.includes(`backscroll_node_up{node="${node}"} 0\n`));
    assert.match(
      text,
      new RegExp(`^backscroll_database_unavailable_total\\{cause="silent",node="${node}"\\} [1-9]`, 'm'),
    );
    for (const gauge of ['backscroll_node_backends', 'backscroll_node_oldest_prepared_seconds'])
      assert.equal(text.match(new RegExp(`^${gauge}\\{.*\\} \\d`, 'gm'))?.length, 2, gauge);
  });

  it('200 again when the worker responds', async () => {
    proxy.setSilent(false);
    for (const request of Object.values(operations))
      for (const tenant of tenants) await until(async () => (await request(tenant)).status === 200);
    assert.equal((await service.as(admin).get('/admin/changes')).status, 200);
  });

  it('/metrics has the age of a prepared transaction, by node', async () => {
    const { database_url } = service.config;
    const [node] = await workerUrls(database_url);
    const { host } = new URL(node ?? '');
    // No node has this number, so no one completes the transaction.
    await onNode(node ?? '', (client) => client.query(`BEGIN; PREPARE TRANSACTION 'citus_99_1_1_1'`));
    try {
      await until(async () => {
        const { text } = await service.as(admin).get('/metrics');
        return new RegExp(`^backscroll_node_oldest_prepared_seconds\\{node="${host}"\\} (?!0$)`, 'm').test(text);
      });
    } finally {
      await onNode(node ?? '', (client) => client.query(`ROLLBACK PREPARED 'citus_99_1_1_1'`));
    }
  });
});
