import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import pg from 'pg';
import { call, command, newFolder, oneLine, runMany } from '../support/cli-helpers.ts';
import { createDify, difyId, difyRows, ids } from '../support/dify-database.ts';
import { newMigratedUrl, onOneEngine, startService } from '../support/harness.ts';
import { until } from '../support/until.ts';
import { exportOf } from './runs.ts';

const password = 'pass-word-of-the-source';
/** The address for a role that may only read. */
const addressOf = (url: string, role: string): string => {
  const address = new URL(url);
  address.username = role;
  address.password = password;
  return address.href;
};

onOneEngine('backscroll import --from-dify', (engine) => {
  const start = async (t: TestContext) => {
    const dify = await createDify();
    await dify.run(difyRows);
    const role = `reader_${randomUUID().slice(0, 8)}`;
    await dify.run(`
      CREATE ROLE ${role} LOGIN PASSWORD '${password}'; GRANT SELECT ON ALL TABLES IN SCHEMA public TO ${role}`);
    const database = await newMigratedUrl(engine);
    const cwd = await newFolder(t);
    t.after(async () => {
      await database.remove();
      await dify.run(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
      await dify.close();
    });
    const env = { DATABASE_URL: database.url, DIFY_DATABASE_URL: addressOf(dify.url, role) };
    return {
      dify,
      options: { cwd, env },
      importDify: (...args: string[]) => call(['import', '--from-dify', ...args], { cwd, env }),
    };
  };

  it('exits with 0 if all is imported, with 3 if something is skipped, and lists it', async (t) => {
    const { dify, options, importDify } = await start(t);
    const before = await importDify('--verify');
    assert.equal(before.code, 1);
    assert.match(before.stdout, /^message: 3 differ: .*\n(.*\n)*compared 13 records: 13 differ\n$/m);
    const file = join(options.cwd, 'skipped.ndjson');
    const first = await importDify();
    assert.deepEqual([first.code, first.stderr], [3, '']);
    assert.match(first.stdout, /^Dify with schema 1161aa1161aa: importing all records\n/);
    assert.match(first.stdout, /^message +3 +3$/m);
    assert.match(first.stdout, /^1 skipped, listed in skipped\.ndjson:\n {2}1 {2}api_key: app missing$/m);
    assert.match(first.stdout, /compared 2 conversations: no differences\n$/);
    assert.match((await importDify('--verify')).stdout, /compared \d+ records: no differences\n$/);
    const skipped = { kind: 'api_key', id: difyId(33), reason: 'app missing' };
    assert.deepEqual(JSON.parse(readFileSync(file, 'utf8')), skipped);
    await dify.run(`DELETE FROM api_tokens WHERE id = '${difyId(33)}'`);
    await dify.insert('message_agent_thoughts', {
      id: difyId(60),
      message_id: difyId(21),
      position: 1,
      tool_labels_str: '{broken',
    });
    await dify.settle();
    const second = await importDify();
    assert.equal(second.code, 3);
    assert.match(second.stdout, /: importing changes\n/);
    const text = readFileSync(file, 'utf8');
    assert.equal(text.split('\n').length, 2, text);
    const line = JSON.parse(text);
    assert.deepEqual([line.kind, line.id, line.part], ['message', difyId(21), 'agent_thoughts[0].tool_labels']);
    assert.equal((await importDify()).code, 0);
  });

  it('stops at the first problem with --strict, and writes no message of the batch', async (t) => {
    const { options, importDify } = await start(t);
    const { code, stderr } = await importDify('--strict');
    assert.deepEqual([code, stderr], [1, `api_key ${difyId(33)}: app missing\n`]);
    assert.ok(!existsSync(join(options.cwd, 'skipped.ndjson')));
  });

  it('writes nothing with --dry-run, not even a database', async (t) => {
    const { options, importDify } = await start(t);
    const { code, stdout } = await importDify('--dry-run');
    assert.equal(code, 3);
    assert.match(stdout, /^kind +read +to write\n/m);
    assert.match(stdout, /^message +3 +3$/m);
    assert.match(stdout, /^1 skipped:\n {2}1 {2}api_key: app missing\nnothing was written\n$/m);
    assert.deepEqual(readdirSync(options.cwd), []);
    if (engine === 'sqlite') assert.ok(!existsSync(options.env.DATABASE_URL.replace('sqlite:', '')));
  });

  it('never prints or stores the address of the source', async (t) => {
    const { options, importDify } = await start(t);
    const outputs = [await importDify(), await importDify('--force')];
    const wrong = options.env.DIFY_DATABASE_URL.replace(/\/[^/]*$/, '/no_such_database');
    const closed = `postgres://user:${password}@127.0.0.1:1/dify`;
    for (const url of [wrong, closed, `postgres://user:${password}@nowhere.invalid/dify`]) {
      const failed = await call(['import', '--from-dify', url], options);
      assert.deepEqual([failed.code, failed.stdout], [1, '']);
      assert.match(failed.stderr, oneLine);
      outputs.push(failed);
    }
    for (const { stdout, stderr } of outputs) assert.ok(!`${stdout}${stderr}`.includes(password));
    if (engine === 'sqlite') {
      const file = options.env.DATABASE_URL.replace('sqlite:', '');
      for (const suffix of ['', '-wal'])
        if (existsSync(file + suffix)) assert.ok(!readFileSync(file + suffix).includes(password));
    } else {
      const client = new pg.Client(options.env.DATABASE_URL);
      await client.connect();
      const { rows } = await client.query('SELECT * FROM import_sources');
      await client.end();
      assert.ok(rows.length > 0 && !JSON.stringify(rows).includes(password));
    }
  });

  it('follows the source until SIGTERM, prints the lag, and waits for a source that does not respond', async (t) => {
    const { dify, options } = await start(t);
    const metrics_token = 'metrics-token-of-a-test';
    const service = await startService(engine, { METRICS_TOKEN: metrics_token }, options.env.DATABASE_URL);
    t.after(() => service.close());
    const { PATH, HOME, NODE_COMPILE_CACHE } = process.env;
    const child = spawn(command, ['import', '--from-dify', '--follow', '0.1'], {
      cwd: options.cwd,
      env: { PATH, HOME, NODE_COMPILE_CACHE, ...options.env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    t.after(async () => void child.kill('SIGKILL'));
    const exited = once(child, 'exit');
    let [stdout, stderr] = ['', ''];
    child.stdout.on('data', (text) => (stdout += text));
    child.stderr.on('data', (text) => (stderr += text));
    await until(() => /lag \d+\.\d s/.test(stdout));
    const message = { app_id: ids.app, conversation_id: ids.conversation, inputs: {} };
    const hasMessage = async (nth: number) =>
      (await exportOf(service.store)).some(({ record, id }) => record === 'message' && id === difyId(nth));
    await dify.run(`INSERT INTO messages (id, conversation_id, inputs, query, created_at)
      VALUES ('${difyId(60)}', '${message.conversation_id}', '{}', 'q', now() AT TIME ZONE 'UTC')`);
    await until(() => hasMessage(60));
    await until(() =>
      /^\d{4}-\S+Z \d+ records since the start of following, lag \d+\.\d s, documents, feedback and deletions \d+\.\d s$/m.test(
        stdout,
      ),
    );
    const { body } = await service.request('GET', '/health/ready');
    assert.equal(body.status, 'ok');
    for (const name of ['messages_lag_seconds', 'others_lag_seconds'])
      assert.ok(body.dify[name] >= 0 && body.dify[name] < 600, JSON.stringify(body));
    const metrics = await service.as(metrics_token).get('/metrics');
    assert.match(metrics.text, /^backscroll_dify_lag_seconds\{of="messages"\} \d+$/m);
    await dify.run(`
      SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name = 'backscroll import'`);
    await dify.run(`INSERT INTO messages (id, conversation_id, inputs, query, created_at)
      VALUES ('${difyId(61)}', '${message.conversation_id}', '{}', 'q', now() AT TIME ZONE 'UTC')`);
    await until(() => hasMessage(61));
    await dify.run('UPDATE apps SET enable_api = false');
    await until(async () => (await service.store.listKeys()).some((key) => key.revoked_at !== null));
    child.kill('SIGTERM');
    assert.deepEqual(await exited, [0, null]);
    assert.ok(!stdout.includes(password) && !stderr.includes(password));
  });

  it('rejects wrong options and sources in one line', async (t) => {
    const { dify, options } = await start(t);
    const url = dify.url;
    const cases: [string[], RegExp, number][] = [
      [['--app', 'x', url], /--app x: must be a UUID/, 2],
      [['--workspace', 'x', url], /--workspace x: must be a UUID/, 2],
      [['--since', 'yesterday', url], /--since yesterday: must be a date/, 2],
      [['--since', '2026-02-30', url], /--since 2026-02-30: must be a date/, 2],
      [['--follow', '0', url], /--follow 0: must be a number of seconds/, 2],
      [['--follow', '--dry-run', url], /--dry-run does not allow --follow/, 2],
      [['--dify-url', 'x', url], /--dify-url: must be http/, 2],
      [['--dify-url', 'http://x', url], /--dify-url needs a knowledge key in DIFY_API_KEY/, 2],
      [['--files-base', 'x', url], /--files-base: must be http/, 2],
      [['--nothing', url], /unknown option/, 2],
      [[url, 'more'], /unexpected argument/, 2],
      [['--app', difyId(999), url], /the Dify installation has no app/, 1],
      [['--workspace', difyId(999), url], /the Dify installation has no workspace/, 1],
      [['mysql://u:p@h/dify'], /PostgreSQL only/, 1],
      [['mysql+pymysql://u:p@h/dify'], /PostgreSQL only/, 1],
      [['http://u:p@h/dify'], /the address of the Dify database is wrong/, 1],
      [
        [options.env.DATABASE_URL],
        engine === 'postgres' ? /not the database of a Dify installation/ : /address .* is wrong/,
        1,
      ],
    ];
    const { DIFY_DATABASE_URL: _, ...env } = options.env;
    const calls = cases.map(([args]) => ({ args: ['import', '--from-dify', ...args], env }));
    const results = [...(await runMany(calls.slice(0, 9), options)), ...(await runMany(calls.slice(9), options))];
    for (const [index, [args, message, code]] of cases.entries()) {
      const { stderr, code: actual } = results[index] ?? assert.fail();
      assert.match(stderr, message, args.join(' '));
      assert.match(stderr, oneLine);
      assert.equal(actual, code, args.join(' '));
    }
    const withoutUrl = await call(['import', '--from-dify'], { cwd: options.cwd, env });
    assert.equal(withoutUrl.code, 2);
    assert.match(withoutUrl.stderr, /needs DIFY_DATABASE_URL, or a URL/);
  });
});
