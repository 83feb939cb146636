import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { onDatabase } from '../support/faulty-postgres.ts';
import { makeTwoTenants, newDatabaseUrl, pluck, startService } from '../support/harness.ts';

describe('a transaction that commits late', () => {
  it('delays only its own entries of the change feed', async (t) => {
    const database = await newDatabaseUrl('postgres');
    t.after(database.remove);
    const { one, admin, records } = makeTwoTenants();
    const service = await startService('postgres', {}, database.url);
    t.after(() => service.close());
    await service.load(records);
    const get = async (after: string) => (await service.as(admin).get(`/admin/changes?after=${after}`)).body;
    const edit = (content: string) => service.as(one.keys.knowledge).patch(one.chunkPath, { content });
    const { cursor } = await get('now');
    await onDatabase(database.url, async (client) => {
      await client.query('BEGIN');
      await client.query('UPDATE workspaces SET name = $2 WHERE id = $1', [one.ids.workspace, 'late']);
      const entries = JSON.stringify([['workspace', '', null, [one.ids.workspace]]]);
      await client.query(`INSERT INTO change_outbox (id, scope, at, entries) VALUES ('0', '0', 1, $1)`, [entries]);
      await edit('meanwhile');
      const page = await get(cursor);
      assert.deepEqual(pluck(page.data, 'kind'), ['child_chunk']);
      await client.query('COMMIT');
      const late = await get(page.cursor);
      assert.deepEqual(
        late.data.map(({ kind, record }: { kind: string; record: { name: string } }) => [kind, record.name]),
        [['workspace', 'late']],
      );
    });
  });
});
