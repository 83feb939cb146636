import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { TestContext } from 'node:test';
import { execute } from '../../../experiments/support/schema-databases.ts';
import type { Store } from '../../src/domain/store/store.ts';
import { command, newFolder, run } from '../support/cli-helpers.ts';
import { createDify, type DifyDatabase, difyRows } from '../support/dify-database.ts';
import { type Engine, newDatabaseUrl, onOneEngine, startService } from '../support/harness.ts';
import { itLong } from '../support/long.ts';
import { until } from '../support/until.ts';
import { manyRows, startLoad } from './load.ts';
import { exportOf, runImport } from './runs.ts';

/** An import that is killed, at any moment, continues when it is started again, and then has what the source has. */

type Setup = {
  dify: DifyDatabase;
  store: Store;
  countMessages: () => Promise<number>;
  options: { cwd: string; env: Record<string, string> };
};

async function start(t: TestContext, engine: Engine): Promise<Setup> {
  const dify = await createDify();
  await dify.run(difyRows);
  const database = await newDatabaseUrl(engine);
  const service = await startService(engine, {}, database.url);
  const cwd = await newFolder(t);
  t.after(async () => {
    await service.close();
    await database.remove();
    await dify.close();
  });
  return {
    dify,
    store: service.store,
    // Called often, so it does not read the records.
    countMessages: async () => {
      const [row] = await execute({ engine, ...database }, [{ text: 'SELECT COUNT(*) AS count FROM messages' }]);
      return Number(row?.count);
    },
    options: { cwd, env: { DATABASE_URL: database.url, DIFY_DATABASE_URL: dify.url } },
  };
}

function spawnImport({ cwd, env }: Setup['options'], ...args: string[]): ChildProcess {
  const { PATH, HOME, NODE_COMPILE_CACHE } = process.env;
  return spawn(command, ['import', '--from-dify', ...args], {
    cwd,
    env: { PATH, HOME, NODE_COMPILE_CACHE, ...env },
    stdio: 'ignore',
  });
}

async function kill(child: ChildProcess): Promise<void> {
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}

/** Compares with an import into an empty database that was not interrupted. */
async function assertEqualToSource({ dify, store }: Setup): Promise<void> {
  const fresh = await startService('sqlite');
  try {
    const result = await runImport(dify.url, fresh.store);
    assert.deepEqual(result.differing, []);
    // Text is sorted by its bytes on both engines.
    assert.deepEqual(await exportOf(store), await exportOf(fresh.store));
  } finally {
    await fresh.close();
  }
}

onOneEngine('an import that is killed', (engine) => {
  itLong('continues a first run where it was', async (t) => {
    const setup = await start(t, engine);
    const { dify, countMessages, options } = setup;
    await dify.run(manyRows(1_000, 6));
    for (let kills = 0; kills < 2; kills += 1) {
      const before = await countMessages();
      const child = spawnImport(options);
      await until(async () => child.exitCode !== null || (await countMessages()) > before + 200);
      await kill(child).catch(() => undefined);
      if (child.exitCode !== null) break;
      assert.ok((await countMessages()) < 6_003, 'the run was interrupted');
    }
    const { code, stdout } = await run(['import', '--from-dify'], options);
    assert.equal(code, 3, 'a key of an app that is gone is skipped');
    assert.match(stdout, /the rest of an interrupted run/);
    assert.match(stdout, /no differences/);
    await assertEqualToSource(setup);
  });

  itLong('continues to follow a source under load', async (t) => {
    const setup = await start(t, engine);
    const { dify, countMessages, options } = setup;
    const load = startLoad(dify.url);
    const followUntilMore = async () => {
      const before = await countMessages();
      const child = spawnImport(options, '--follow', '0.2');
      await until(async () => (await countMessages()) > before + 20);
      return child;
    };
    for (let kills = 0; kills < 20; kills += 1) await kill(await followUntilMore());
    const last = await followUntilMore();
    const turns = await load.end();
    assert.ok(turns > 40);
    await until(async () => (await countMessages()) === turns + 3);
    const exited = once(last, 'exit');
    last.kill('SIGTERM');
    assert.deepEqual(await exited, [0, null]);
    const { stdout } = await run(['import', '--from-dify'], options);
    assert.match(stdout, /no differences/);
    await assertEqualToSource(setup);
  });
});
