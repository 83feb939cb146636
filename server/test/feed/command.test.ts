import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { it } from 'node:test';
import { call, command, newFolder, oneLine, sendRequest, serve } from '../support/cli-helpers.ts';
import {
  makeTwoTenants,
  message,
  ndjson,
  newDatabaseWith,
  onOneEngine,
  pluck,
  startService,
} from '../support/harness.ts';
import { until } from '../support/until.ts';

onOneEngine('backscroll changes', (engine) => {
  const { one, admin, records } = makeTwoTenants();

  async function newDatabase(t: { after: (tidy: () => Promise<void>) => void }) {
    const { url, remove } = await newDatabaseWith(engine, records);
    t.after(remove);
    const options = { cwd: await newFolder(t), env: { DATABASE_URL: url } };
    const succeed = async (args: string[], stdin = '') => {
      const { code, stdout, stderr } = await call(args, { ...options, stdin });
      assert.deepEqual([code, stderr], [0, ''], stderr);
      return stdout;
    };
    const entries = async (...args: string[]) =>
      (await succeed(['changes', ...args]))
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line));
    return { url, options, succeed, entries };
  }

  it('prints all records, then changes since a cursor, of the wanted kinds', async (t) => {
    const { succeed, entries, options } = await newDatabase(t);
    const all = await entries();
    const exported = (await succeed(['export'])).trimEnd().split('\n');
    const listed = exported.map((line) => JSON.parse(line)).filter(({ record }) => record !== 'api_key');
    assert.deepEqual(pluck(all, 'record'), listed);
    const [last] = all.slice(-1);
    const added = message(one.ids.conversation, 5);
    await succeed(['import', '-'], ndjson([added, { record: 'workspace', id: one.ids.workspace, name: 'new' }]));
    // The end of the initial snapshot lists the new message, and the changes since its start list it again.
    const ids = async (...args: string[]) =>
      new Set((await entries('--after', last.cursor, ...args)).map(({ id }) => id));
    assert.deepEqual(await ids(), new Set([added.id, one.ids.workspace]));
    assert.deepEqual(await ids('--kinds', 'message,app'), new Set([added.id]));
    assert.deepEqual(await entries('--after', 'now'), []);
    for (const [args, code, expected] of [
      [['--kinds', 'api_key'], 2, /kinds must be/],
      [['--after', 'x'], 1, /after must be a cursor/],
      [['--new-epoch', '--follow'], 2, /--new-epoch allows no other option/],
    ] as const) {
      const failed = await call(['changes', ...args], options);
      assert.deepEqual([failed.code, failed.stdout], [code, '']);
      assert.match(failed.stderr, oneLine);
      assert.match(failed.stderr, expected);
    }
  });

  it('--follow prints changes as they are written, until a signal', async (t) => {
    const { succeed, options } = await newDatabase(t);
    const child = spawn(command, ['changes', '--after', 'now', '--follow'], {
      cwd: options.cwd,
      env: { ...process.env, ...options.env },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    t.after(async () => void child.kill('SIGKILL'));
    const exited = once(child, 'exit');
    const printed: string[] = [];
    createInterface({ input: child.stdout }).on('line', (line) => printed.push(JSON.parse(line).id));
    // It may start after the first writes.
    const seen = await until(async () => {
      await succeed(['import', '-'], ndjson([message(one.ids.conversation, 1)]));
      return printed.length > 0;
    });
    assert.ok(seen);
    const added = message(one.ids.conversation, 2);
    await succeed(['import', '-'], ndjson([added]));
    await until(() => printed.includes(added.id));
    child.kill('SIGTERM');
    assert.deepEqual(await exited, [0, null]);
  });

  it('--new-epoch makes all cursors invalid, also in a running service', async (t) => {
    const { succeed, entries, options } = await newDatabase(t);
    const service = await startService(engine, {}, options.env.DATABASE_URL);
    t.after(service.close);
    const get = (query: string) => service.as(admin).get(`/admin/changes${query}`);
    const { cursor } = (await get('?after=now')).body;
    assert.equal((await get(`?after=${cursor}`)).status, 200);
    assert.match(await succeed(['changes', '--new-epoch']), /^all cursors .* invalid.*\n$/);
    const { status, body } = await get(`?after=${cursor}`);
    assert.deepEqual([status, body.code], [410, 'cursor_gone']);
    const failed = await call(['changes', '--after', cursor], options);
    assert.deepEqual([failed.code, failed.stdout], [1, '']);
    assert.match(failed.stderr, /the cursor is no longer valid: start again without it/);
    const [first] = await entries();
    // A cursor is an argument of `--after`, so it may not begin with a dash.
    assert.match(first.cursor, /^[0-9a-f]{12}\.\d+/);
  });

  it('a service numbers changes although no one reads them, and reports them as metrics', async (t) => {
    const { options } = await newDatabase(t);
    // The index of the search is a reader of the feed.
    const serving = await serve(t, { ...options, env: { ...options.env, SEARCH: 'off' } });
    const metric = async (name: string) =>
      Number(new RegExp(`^${name} (\\d+)$`, 'm').exec((await sendRequest(serving.base, '/metrics', admin)).text)?.[1]);
    // The records of the import.
    await until(async () => (await metric('backscroll_changes_unsequenced')) === 0);
    const head = await metric('backscroll_changes_head');
    assert.ok(head > 0);
    const lines = ndjson([message(one.ids.conversation, 5), message(one.ids.conversation, 6)]);
    await sendRequest(serving.base, '/admin/records', admin, { method: 'POST', lines });
    assert.equal(await metric('backscroll_changes_head'), head);
    assert.equal(await metric('backscroll_changes_unsequenced'), 1);
    assert.ok((await metric('backscroll_changes_oldest_unsequenced_seconds')) >= 0);
    await sendRequest(serving.base, '/admin/changes?after=now', admin);
    assert.equal(await metric('backscroll_changes_head'), head + 2);
  });

  it('CHANGES=off writes no outbox entries, and the feed starts again when it is on', async (t) => {
    const { entries, options } = await newDatabase(t);
    const [first] = await entries();
    const off = { ...options, env: { ...options.env, CHANGES: 'off' } };
    const edit = (base: string, content: string) =>
      sendRequest(base, one.chunkPath, one.keys.knowledge, { method: 'PATCH', json: { content } });
    const silent = await serve(t, off);
    const append = { method: 'POST', lines: ndjson([message(one.ids.conversation, 5)]) };
    assert.equal((await sendRequest(silent.base, '/admin/records', admin, append)).status, 200);
    assert.equal((await edit(silent.base, 'while off')).status, 200);
    const { status, body } = await sendRequest(silent.base, '/admin/changes', admin);
    assert.deepEqual([status, body.message], [404, 'the change feed is off (CHANGES=off)']);
    const { text } = await sendRequest(silent.base, '/metrics', admin);
    assert.match(text, /^backscroll_changes_unsequenced 0$/m);
    for (const env of [options, off]) {
      for (const args of [[], ['--new-epoch']]) {
        const failed = await call(['changes', ...args], env);
        assert.deepEqual([failed.code, failed.stderr], [1, 'the change feed is off (CHANGES=off)\n']);
      }
    }
    await silent.end('SIGTERM');
    const serving = await serve(t, options);
    const get = (query: string) => sendRequest(serving.base, `/admin/changes${query}`, admin);
    assert.equal((await get(`?after=${first.cursor}`)).status, 410);
    const { cursor } = (await get('?after=now')).body;
    await edit(serving.base, 'while on');
    const page = (await get(`?after=${cursor}`)).body;
    assert.deepEqual(
      page.data.map(({ record }: { record: { content: string } }) => record.content),
      ['while on'],
    );
    await serving.end('SIGTERM');
    assert.equal((await entries('--after', cursor)).length, 1, 'a restart alone starts no epoch');
  });

  it('a command with CHANGES=off says once that it has turned the feed off for a running service', async (t) => {
    const { options } = await newDatabase(t);
    const serving = await serve(t, options);
    const off = { ...options, env: { ...options.env, CHANGES: 'off' } };
    const outputs = [await call(['keys', 'list'], off), await call(['keys', 'list'], off)];
    const warning = 'CHANGES=off has turned off the change feed and the search of all processes of this database\n';
    assert.deepEqual(
      outputs.map(({ code, stderr }) => [code, stderr]),
      [
        [0, warning],
        [0, ''],
      ],
    );
    assert.equal((await sendRequest(serving.base, '/admin/changes', admin)).status, 404);
  });

  if (engine === 'sqlite') {
    it('the restore of an older backup makes cursors invalid', async (t) => {
      const { url, succeed, options } = await newDatabase(t);
      const path = url.replace('sqlite:', '');
      await succeed(['backup', 'copy.db']);
      const before = await startService(engine, {}, url);
      await before.load([message(one.ids.conversation, 5)]);
      const { cursor } = (await before.as(admin).get('/admin/changes?after=now')).body;
      await before.close();
      for (const ending of ['-wal', '-shm']) await rm(`${path}${ending}`, { force: true });
      await copyFile(join(options.cwd, 'copy.db'), path);
      const after = await startService(engine, {}, url);
      t.after(after.close);
      const { status, body } = await after.as(admin).get(`/admin/changes?after=${cursor}`);
      assert.deepEqual([status, body.code], [410, 'cursor_gone']);
      const snapshot = await after.as(admin).get('/admin/changes?limit=1000');
      assert.equal(snapshot.status, 200);
    });
  }
});
