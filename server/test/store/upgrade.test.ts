import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import { currentVersion } from '../../../experiments/support/added-step.ts';
import { execute, newDatabase, schemaOf, versionOf } from '../../../experiments/support/schema-databases.ts';
import { killMigrations, type UpgradeOptions } from '../../../experiments/upgrade.ts';
import { installFakeCitus } from '../citus/fake-citus.ts';
import { newFolder, oneLine, runMany } from '../support/cli-helpers.ts';
import { type Engine, onEveryEngine } from '../support/harness.ts';
import { itLong } from '../support/long.ts';

async function assertComplete(t: TestContext, engine: Engine, options: UpgradeOptions): Promise<void> {
  const findings = await killMigrations(engine, options);
  for (const { promise, measured } of findings) t.diagnostic(`${promise}: ${measured}`);
  assert.ok(findings.length >= 3);
  assert.deepEqual(
    findings.filter(({ holds }) => !holds),
    [],
  );
}

const options = {
  points: Number.POSITIVE_INFINITY,
  rounds: 5,
  migrators: 3,
  waits: 1,
  messages: 50,
};

onEveryEngine('a migration', (engine) => {
  itLong('is applied completely or not at all, wherever processes are killed, and the next start completes it', (t) =>
    assertComplete(t, engine, options),
  );

  it('rejects a database of an unreleased schema with one line that says how to move it, and does not change it', async (t) => {
    const cwd = await newFolder(t);
    const database = await newDatabase(engine);
    t.after(database.remove);
    const earlier = currentVersion - 1;
    await execute(database, [
      { text: 'CREATE TABLE schema_migrations (version BIGINT PRIMARY KEY, name TEXT, applied_at BIGINT)' },
      { text: 'INSERT INTO schema_migrations VALUES ($1, $2, 1)', values: [earlier, 'earlier'] },
      { text: 'CREATE TABLE messages (id TEXT PRIMARY KEY)' },
    ]);
    const schema = await schemaOf(database);
    const env = { DATABASE_URL: database.url, PORT: '0' };
    const calls = [['serve'], ['migrate'], ['migrate', '--status'], ['export'], ['import', '-'], ['keys', 'list']];
    for (const { code, stdout, stderr } of await runMany(
      calls.map((args) => ({ args })),
      { cwd, env },
    )) {
      assert.deepEqual([code, stdout], [1, '']);
      assert.match(stderr, oneLine);
      assert.match(
        stderr,
        new RegExp(`schema ${earlier} of an unreleased version: export it with that version, and import`),
      );
    }
    assert.deepEqual([await schemaOf(database), await versionOf(database)], [schema, earlier]);
    if (engine === 'postgres')
      assert.equal((await execute(database, [{ text: `SELECT to_regclass('leases') AS found` }]))[0]?.found, null);
  });
});

itLong('a migration on Citus is applied completely or not at all, and the next start completes it', (t) =>
  // Two processes never distribute tables at once: the second one waits for the lease.
  assertComplete(t, 'postgres', { ...options, points: 30, rounds: 0, install: installFakeCitus }),
);
