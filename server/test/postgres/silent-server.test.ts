import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import type pg from 'pg';
import { lockWaits } from '../citus/cluster.ts';
import { NodeProxy } from '../citus/node-proxy.ts';
import { newScope } from '../support/cli-helpers.ts';
import { onDatabase } from '../support/faulty-postgres.ts';
import { makeTenant, makeTwoTenants, newMigratedUrl, type Service, startService } from '../support/harness.ts';
import { until } from '../support/until.ts';

/** No request of these tests may wait for it. */
const settings = { DATABASE_TIMEOUT: '600000', DATABASE_POOL: '2' };

const rename = (service: Service, { keys, ids }: ReturnType<typeof makeTenant>) =>
  service.as(keys.app).post(`/v1/conversations/${ids.conversation}/name`, { name: randomUUID() });

/** Runs `work` while the conversation is locked, so that statements that write it take long. */
const whileLocked = (url: string, id: string, work: (client: pg.Client) => Promise<void>) =>
  onDatabase(url, async (client) => {
    await client.query('BEGIN');
    await client.query('SELECT 1 FROM conversations WHERE conversation_id = $1 FOR UPDATE', [id]);
    await work(client);
  });

describe('a PostgreSQL server that becomes silent', () => {
  const { one, admin, records } = makeTwoTenants();
  const scope = newScope();
  let url: string;
  let proxy: NodeProxy;
  let service: Service;
  before(async () => {
    const database = await newMigratedUrl('postgres');
    scope.after(database.remove);
    ({ url } = database);
    const address = new URL(url);
    proxy = await NodeProxy.start({ host: address.hostname, port: Number(address.port) });
    scope.after(async () => proxy.close());
    address.port = `${proxy.port}`;
    service = await startService('postgres', settings, address.href);
    scope.after(service.close);
    await service.load(records);
  });
  after(async () => {
    proxy?.setSilent(false);
    await scope.end();
  });

  const page = () => service.as(one.keys.app).get(`/v1/messages?conversation_id=${one.ids.conversation}`);

  it('503 for requests that wait for it, or for a connection, long before DATABASE_TIMEOUT', async () => {
    assert.equal((await page()).status, 200);
    proxy.setSilent(true);
    for (const { status, headers } of await Promise.all(Array.from({ length: 8 }, page))) {
      assert.equal(status, 503);
      assert.match(headers['retry-after'] ?? '', /^[1-9]/);
    }
    assert.ok(service.logs.join('').includes('the server does not respond'));
  });

  it('503 at once for later requests', async () => {
    // If each of them waited for a probe, they would take minutes.
    for (let times = 0; times < 50; times += 1) {
      assert.equal((await page()).status, 503);
      assert.equal((await service.request('GET', '/health/ready')).status, 503);
    }
  });

  it('200 again when it responds', async () => {
    proxy.setSilent(false);
    await until(async () => (await page()).status === 200);
    const { text } = await service.as(admin).get('/metrics');
    assert.match(text, /^backscroll_database_unavailable_total\{cause="silent",node=""\} [1-9]/m);
  });

  it('200 for a statement that takes long, of a server that responds to a probe', async () => {
    await whileLocked(url, one.ids.conversation, async (client) => {
      const renaming = rename(service, one);
      // Long enough for a probe.
      await until(async () => {
        const { rowCount } = await onDatabase(url, (other) =>
          other.query(`${lockWaits} AND now() - query_start > interval '2 seconds'`),
        );
        return rowCount === 1;
      });
      await client.query('ROLLBACK');
      assert.equal((await renaming).status, 200);
    });
  });
});

/** What the service reads of the catalog of Citus, and a node that can hang. */
const cluster = (conversation: string) => `
  CREATE TABLE pg_dist_node AS SELECT 1 AS groupid, 'w1' AS nodename, 5432 AS nodeport, true AS isactive, 'primary' AS noderole;
  CREATE TABLE pg_dist_local_group AS SELECT 0 AS groupid;
  CREATE TABLE pg_dist_partition AS SELECT 'conversations'::regclass AS logicalrelid;
  CREATE TABLE pg_dist_placement AS SELECT * FROM (VALUES (10, 0), (11, 1)) AS placement (shardid, groupid);
  CREATE FUNCTION get_shard_id_for_distribution_column(regclass, value text) RETURNS int LANGUAGE sql AS
    $$ SELECT CASE value WHEN '${conversation}' THEN 11 ELSE 10 END $$;
  CREATE FUNCTION citus_check_connection_to_node(text, int) RETURNS boolean LANGUAGE sql AS
    $$ SELECT pg_sleep(600) IS NOT NULL $$;`;

describe('a node that becomes silent', () => {
  const [one, other] = [makeTenant(), makeTenant()];
  const scope = newScope();
  let url: string;
  let service: Service;
  before(async () => {
    const database = await newMigratedUrl('postgres');
    scope.after(database.remove);
    ({ url } = database);
    service = await startService('postgres', settings, url);
    scope.after(service.close);
    await service.load([...one.records, ...other.records]);
    await onDatabase(url, (client) => client.query(cluster(one.ids.conversation)));
  });
  after(() => scope.end());

  it('503 for what waits for it, 200 for what needs another node, also if no connection is left', async () => {
    await whileLocked(url, one.ids.conversation, async () => {
      const waiting = [rename(service, one), rename(service, one)];
      await until(async () => {
        const { rowCount } = await onDatabase(url, (client) =>
          client.query(
            `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
          ),
        );
        return rowCount === 2;
      });
      assert.equal((await rename(service, other)).status, 200);
      for (const { status } of await Promise.all(waiting)) assert.equal(status, 503);
      assert.ok(service.logs.join('').includes('the node w1:5432 does not respond'));
    });
  });

  it('200 again when it responds', async () => {
    const responding = `CREATE OR REPLACE FUNCTION citus_check_connection_to_node(text, int) RETURNS boolean LANGUAGE sql
      AS 'SELECT true'`;
    await onDatabase(url, (client) => client.query(responding));
    await until(async () => (await rename(service, one)).status === 200);
  });
});
