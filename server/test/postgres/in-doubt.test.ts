import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type pg from 'pg';
import { call, newFolder, newScope, oneLine } from '../support/cli-helpers.ts';
import { onDatabase } from '../support/faulty-postgres.ts';
import { makeTwoTenants, message, ndjson, newMigratedUrl, type Service, startService } from '../support/harness.ts';
import { until } from '../support/until.ts';

const millis = '500';

/**
 * A prepared transaction keeps its locks, also over a restart, until it is committed or rolled back. A Citus cluster has such a
 * one if a node or the coordinator is lost between the two phases of a commit.
 */
describe('while a transaction is in doubt', () => {
  const { one, admin, records } = makeTwoTenants();
  const scope = newScope();
  let service: Service;
  let url: string;
  let cwd: string;
  before(async () => {
    const database = await newMigratedUrl('postgres');
    scope.after(database.remove);
    ({ url } = database);
    cwd = await newFolder(scope);
    service = await startService('postgres', { DATABASE_TIMEOUT: millis }, url);
    scope.after(service.close);
    await service.load([...records, message(one.ids.conversation, 1)]);
  });
  after(() => scope.end());

  const inTransaction = (statement: string, end: string, work: (client: pg.Client) => Promise<void>) =>
    onDatabase(url, async (client) => {
      await client.query(`BEGIN; ${statement}`);
      if (end !== '') await client.query(end);
      await work(client);
    });
  const whileInDoubt = async (statement: string, work: () => Promise<void>) => {
    await inTransaction(statement, `PREPARE TRANSACTION 'citus_0_1_2_3'`, async (client) => {
      try {
        await work();
      } finally {
        await client.query(`ROLLBACK PREPARED 'citus_0_1_2_3'`);
      }
    });
  };

  /** Not an append: it waits for other imports. */
  const lines = ndjson([
    { record: 'conversation', id: one.ids.conversation, app_id: one.ids.app, created_at: 1 },
    { record: 'segment', id: one.ids.segment, document_id: one.ids.document, position: 1, content: 'other text' },
  ]);
  const importLines = () => service.as(admin).post('/admin/records', lines, { 'content-type': 'application/x-ndjson' });
  const purge = () => service.as(admin).post('/admin/purge', { conversation_id: one.ids.conversation });
  const touch = (table: string, column: string, id: string) =>
    `UPDATE ${table} SET ${column} = ${column} WHERE ${column} = '${id}'`;

  const lease = (name: string) =>
    `INSERT INTO leases (name, holder, expires_at) VALUES ('${name}', '', 0)
     ON CONFLICT (name) DO UPDATE SET expires_at = leases.expires_at`;
  const locked = {
    'a conversation': touch('conversations', 'conversation_id', one.ids.conversation),
    'what an import locks first': lease('import'),
    'what an erasure locks first': lease('erasure'),
  };
  for (const [name, statement] of Object.entries(locked))
    it(`503 after DATABASE_TIMEOUT for an import or a purge that needs ${name}`, async () => {
      await whileInDoubt(statement, async () => {
        const requests = [
          ...(name.includes('erasure') ? [] : [importLines]),
          ...(name.includes('import') ? [] : [purge]),
        ];
        for (const request of requests) {
          const { status, headers, text } = await request();
          assert.equal(status, 503, text);
          assert.match(headers['retry-after'] ?? '', /^[1-9]/);
          assert.ok(service.logs.join('').includes('a transaction in doubt'));
        }
      });
    });

  it('exit code 1 and one line of the commands', async () => {
    await whileInDoubt(locked['a conversation'], async () => {
      const env = { DATABASE_URL: url, DATABASE_TIMEOUT: millis };
      const commands = [
        call(['import', '-'], { cwd, env, stdin: lines }),
        call(['purge', '--conversation', one.ids.conversation, '--yes'], { cwd, env }),
      ];
      for (const { code, stderr } of await Promise.all(commands)) {
        assert.equal(code, 1);
        assert.match(stderr, oneLine);
        assert.match(stderr, /^the database is not available: a transaction in doubt .*docs\/run\/citus\.md/);
      }
    });
  });

  it('200 when another import has run for longer than DATABASE_TIMEOUT, and ends', async () => {
    const attempts = new Set<string>();
    await inTransaction(locked['what an import locks first'], '', async (client) => {
      const importing = importLines();
      // Each attempt is a transaction of its own.
      await until(async () => {
        const { rows } = await onDatabase(url, (other) =>
          other.query(
            `SELECT xact_start FROM pg_stat_activity
           WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%leases%'`,
          ),
        );
        for (const row of rows) attempts.add(row.xact_start.toISOString());
        return attempts.size > 1;
      });
      await client.query('ROLLBACK');
      assert.equal((await importing).status, 200);
    });
    assert.equal((await purge()).status, 200);
  });
});
