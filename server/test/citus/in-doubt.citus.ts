import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { makeTwoTenants, message, newDatabaseUrl, type Service, startService } from '../support/harness.ts';
import { nodesOf, onNode, urlOf } from './cluster.ts';

/** No node has this number, so no node completes the transaction. */
const prepared = 'citus_99_1_1_1';

describe('while a transaction is in doubt on a worker', () => {
  const { one, admin, records } = makeTwoTenants();
  let service: Service;
  let url: string;
  let remove: () => Promise<void>;
  before(async () => {
    ({ url, remove } = await newDatabaseUrl('postgres'));
    service = await startService('postgres', { DATABASE_TIMEOUT: '2000' }, url);
    await service.load([...records, message(one.ids.conversation, 1)]);
  });
  after(async () => {
    await service?.close();
    await remove?.();
  });

  /** The shard of a table for a distribution value, on the last node that has it. */
  const shardOf = (table: string, value: string) =>
    onNode(url, async (client) => {
      const { rows } = await client.query(
        `SELECT shard_name($1::regclass, s.shardid) AS name, n.nodename AS host, n.nodeport AS port
         FROM pg_dist_shard s JOIN pg_dist_placement p ON p.shardid = s.shardid JOIN pg_dist_node n ON n.groupid = p.groupid
         WHERE s.logicalrelid = $1::regclass
           AND ($2 = '' OR s.shardid = get_shard_id_for_distribution_column($1::regclass, $2))
         ORDER BY n.groupid DESC LIMIT 1`,
        [table, value],
      );
      return { table: rows[0].name, node: urlOf(new URL(url).pathname.slice(1), rows[0]) };
    });

  const importLines = () =>
    service
      .as(admin)
      .append(
        { record: 'conversation', id: one.ids.conversation, app_id: one.ids.app, created_at: 1 },
        { record: 'segment', id: one.ids.segment, document_id: one.ids.document, position: 1, content: 'other text' },
      );
  const purge = () => service.as(admin).post('/admin/purge', { conversation_id: one.ids.conversation });

  it('503 after DATABASE_TIMEOUT for imports and purges that need its rows, 200 when it has ended', async () => {
    assert.ok((await nodesOf(url)).length > 1);
    const locked = [
      { ...(await shardOf('conversations', one.ids.conversation)), key: 'conversation_id', id: one.ids.conversation },
      { ...(await shardOf('leases', '')), key: 'name', id: 'import' },
    ];
    assert.equal((await importLines()).status, 200);
    for (const { table, node, key, id } of locked) {
      const lock = `UPDATE ${table} SET ${key} = ${key} WHERE ${key} = '${id}'`;
      await onNode(node, (client) =>
        client.query(
          `SET citus.enable_manual_changes_to_shards = on; BEGIN; ${lock}; PREPARE TRANSACTION '${prepared}'`,
        ),
      );
      try {
        for (const request of key === 'name' ? [importLines] : [importLines, purge]) {
          const { status, text } = await request();
          assert.equal(status, 503, text);
        }
        assert.ok(service.logs.join('').includes('a transaction in doubt'));
      } finally {
        await onNode(node, (client) => client.query(`ROLLBACK PREPARED '${prepared}'`));
      }
    }
    assert.equal((await importLines()).status, 200);
    assert.equal((await purge()).status, 200);
  });
});
