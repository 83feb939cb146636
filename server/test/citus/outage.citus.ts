import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { chunkPath, makeTenant, message, newDatabaseUrl, type Service, startService } from '../support/harness.ts';
import { onNode } from './cluster.ts';

/** One worker cannot be reached: in this database its address is wrong, so that new connections to it fail. */
describe('while a worker is down', () => {
  const tenants = Array.from({ length: 40 }, () => makeTenant());
  const metricsToken = randomUUID();
  let url: string;
  let remove: () => Promise<void>;
  let service: Service;
  /** Distribution values on the nodes that can be reached. */
  const healthy = new Set<string>();

  const setPort = (port: string) =>
    onNode(url, async (client) => {
      await client.query('SET allow_system_table_mods = on');
      await client.query(
        `UPDATE pg_dist_node SET nodeport = ${port} WHERE groupid = (SELECT MAX(groupid) FROM pg_dist_node)`,
      );
    });

  before(async () => {
    ({ url, remove } = await newDatabaseUrl('postgres'));
    const first = await startService('postgres', {}, url);
    await first.load(tenants.flatMap(({ records, ids }) => [...records, message(ids.conversation, 1)]));
    await first.close();
    const values = tenants.flatMap(({ ids }) => [ids.conversation, ids.dataset]);
    await onNode(url, async (client) => {
      const { rows } = await client.query(
        `SELECT value FROM unnest($1::text[]) AS value JOIN pg_dist_placement p
           ON p.shardid = get_shard_id_for_distribution_column('conversations', value)
         WHERE p.groupid < (SELECT MAX(groupid) FROM pg_dist_node)`,
        [values],
      );
      for (const { value } of rows) healthy.add(value);
    });
    await setPort('nodeport + 20000');
    service = await startService('postgres', { DATABASE_TIMEOUT: '5000', METRICS_TOKEN: metricsToken }, url);
  });
  after(async () => {
    await service?.close();
    await remove?.();
  });

  type Reply = Awaited<ReturnType<Service['request']>>;
  /** Requests to all tenants at once: 200 where the shard can be reached, otherwise 503. */
  async function assertSplit(
    request: (tenant: (typeof tenants)[number]) => Promise<Reply>,
    shardOf: (tenant: (typeof tenants)[number]) => string,
  ): Promise<void> {
    const replies = await Promise.all(tenants.map(async (tenant) => ({ tenant, reply: await request(tenant) })));
    for (const { tenant, reply } of replies) {
      assert.equal(reply.status, healthy.has(shardOf(tenant)) ? 200 : 503, reply.text);
      if (reply.status === 503) assert.match(reply.headers['retry-after'] ?? '', /^[1-9]/);
    }
    const count = (status: number) => replies.filter(({ reply }) => reply.status === status).length;
    assert.ok(count(200) > 5 && count(503) > 5, `${count(200)} and ${count(503)}`);
  }

  const getPage = ({ ids, keys }: (typeof tenants)[number]) =>
    service.as(keys.app).get(`/v1/messages?conversation_id=${ids.conversation}`);

  it('200 and 503: pages of the other nodes are served, first reads and repeated ones', async () => {
    await assertSplit(getPage, ({ ids }) => ids.conversation);
    await assertSplit(getPage, ({ ids }) => ids.conversation);
  });

  it('200 and 503: edits on the other nodes succeed', async () => {
    const edit = ({ ids, keys }: (typeof tenants)[number]) =>
      service.as(keys.knowledge).patch(chunkPath(ids), { content: randomUUID() });
    await assertSplit(edit, ({ ids }) => ids.dataset);
  });

  it('200 and 503: appends on the other nodes succeed', async () => {
    const append = ({ ids, keys }: (typeof tenants)[number]) =>
      service.as(keys.writer).append(message(ids.conversation, 2));
    await assertSplit(append, ({ ids }) => ids.conversation);
  });

  it('200: health checks, models and keys need no worker', async () => {
    assert.equal((await service.request('GET', '/health/ready')).status, 200);
    const { app } = tenants[0]?.keys ?? {};
    assert.equal((await service.as(app).get('/v1/workspaces/current/models/model-types/llm')).status, 200);
  });

  it('503: no key can be created or revoked, because keys are on every node', async () => {
    const key = {
      id: randomUUID(),
      kind: 'admin',
      name: 'n',
      digest: randomUUID(),
      created_at: 1,
      expires_at: null,
      read_only: false,
      role: 'admin',
    } as const;
    const reach = { workspace_id: null, app_id: null, dataset_ids: null };
    await assert.rejects(service.store.run('createKey', { key: { ...key, ...reach }, createdBy: null }), {
      code: 'service_unavailable',
    });
    await assert.rejects(service.store.run('revokeKey', { id: tenants[0]?.keyIds.app ?? '', by: null, now: 1 }), {
      code: 'service_unavailable',
    });
  });

  it('/metrics counts these responses by node', async () => {
    const node = await onNode(url, async (client) => {
      const { rows } = await client.query('SELECT nodename, nodeport FROM pg_dist_node ORDER BY groupid DESC LIMIT 1');
      return `${rows[0].nodename}:${rows[0].nodeport}`;
    });
    const { text } = await service.as(metricsToken).get('/metrics');
    const counted = `^backscroll_database_unavailable_total\\{cause="connection",node="${node}"\\} [1-9]`;
    assert.match(text, new RegExp(counted, 'm'));
    assert.ok(text.includes(`backscroll_node_up{node="${node}"} 0\n`));
  });

  it('200: everything succeeds again when the worker is back, without a restart', async () => {
    await setPort('nodeport - 20000');
    for (const tenant of tenants) healthy.add(tenant.ids.conversation);
    const replies = await Promise.all(tenants.map(getPage));
    assert.deepEqual(new Set(replies.map(({ status }) => status)), new Set([200]));
    assert.equal(await service.store.run('revokeKey', { id: tenants[0]?.keyIds.app ?? '', by: null, now: 1 }), true);
  });
});
