import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, it, type TestContext } from 'node:test';
import { backUpRegularly } from '../../src/service/back-up.ts';
import { call, freePort, launcher, sendRequest, serve, start } from '../support/cli-helpers.ts';
import { startService } from '../support/harness.ts';
import { until, untilEqual } from '../support/until.ts';
import { newDatabase } from './backup-fixture.ts';
import { account, FakeS3 } from './fake-s3.ts';

/** A service with backups, and what it says about them. */
async function newService(t: TestContext, env: Record<string, string>) {
  const database = await newDatabase(t);
  const service = await serve(t, { cwd: database.cwd, env });
  const send = (path: string, parts = {}) => sendRequest(service.base, path, database.admin, parts);
  return {
    ...{ ...database, service, send },
    backup: async () => (await send('/health/ready')).body.backup,
    metric: async (name: string) =>
      Number(
        new RegExp(`^backscroll_backup_${name}(?:{kind="store"})? (\\S+)$`, 'm').exec(
          (await send('/metrics')).text,
        )?.[1],
      ),
    warnings: () =>
      service
        .output()
        .split('\n')
        .filter((line) => line.includes('"level":40')),
  };
}

describe('a service with BACKUP_URL', { concurrency: 3 }, () => {
  it('backs up at once and when it is due, and stores erasures soon after them', async (t) => {
    const env = { BACKUP_URL: 'store', BACKUP_EVERY: '15m' };
    const { cwd, store, conversation, service, send, backup, metric, ids, ...rest } = await newService(t, env);
    await untilEqual(async () => (await backup())?.failing_since, null);
    const [first = ''] = ids();
    assert.equal(ids().length, 1);
    await until(() => new RegExp(`backed up .* to .*/${first} in `).test(service.output()));
    const { bytes } = JSON.parse(readFileSync(join(store, first, 'manifest.json'), 'utf8'));
    assert.equal(await metric('bytes'), bytes);
    assert.ok((await metric('duration_seconds')) > 0);
    assert.equal(await metric('failing_seconds'), 0);
    assert.ok((await metric('age_seconds')) < 900);

    const purged = await send('/admin/purge', { method: 'POST', json: { conversation_id: conversation.id } });
    assert.equal(purged.status, 200);
    const erased = join(store, 'erased');
    await until(() => existsSync(erased) && readdirSync(erased).some((name) => name.endsWith('.json')));
    assert.match(readFileSync(join(erased, readdirSync(erased)[0] ?? ''), 'utf8'), new RegExp(conversation.id));
    assert.deepEqual(ids(), [first]);

    const db = new DatabaseSync(rest.database, { timeout: 10_000 });
    db.exec("UPDATE jobs SET at = at - 900 WHERE kind = 'store'");
    db.close();
    await until(() => ids().length === 2 && existsSync(join(store, ids().at(-1) ?? '', 'manifest.json')));
    assert.deepEqual(readdirSync(cwd).sort(), ['data', 'store']);
    await service.end('SIGTERM');
    assert.deepEqual(readdirSync(join(cwd, 'data')), ['backscroll.db']);
    // What a killed backup has left is removed at the next start, although no backup is due.
    const left = join(cwd, 'data', 'backscroll.db.99999999-0badcafe.partial');
    await writeFile(left, '');
    await serve(t, { cwd, env });
    await until(() => !existsSync(left));
    assert.equal(ids().length, 2);
  });

  it('serves while the store fails, and says so once in the log, in the metrics and in its health', async (t) => {
    const s3 = await FakeS3.start(t);
    s3.fault = () => ({ status: 403, code: 'AccessDenied' });
    const { service, send, backup, metric, warnings, one } = await newService(t, s3.env());
    await untilEqual(async () => typeof (await backup())?.failing_since, 'number');
    assert.equal((await backup()).at, null);
    assert.ok((await metric('failing_seconds')) >= 0);
    assert.ok(Number.isNaN(await metric('bytes')));
    await until(() => warnings().length > 0);
    assert.match(
      warnings()[0] ?? '',
      /s3:\/\/bucket\/backups \(.*403 AccessDenied.*the backup failed: the last good one stays/,
    );
    assert.equal(warnings().length, 1);
    assert.doesNotMatch(service.output(), new RegExp(account.secret));
    const page = `/v1/messages?conversation_id=${one.ids.conversation}`;
    assert.equal((await sendRequest(service.base, page, one.keys.app)).status, 200);
    await send('/health/live');
  });

  it('ends a backup when it is told to stop, and leaves nothing of it', async (t) => {
    const s3 = await FakeS3.start(t);
    s3.fault = ({ operation }) => (operation === 'PUT' ? 'silent' : undefined);
    const { cwd, service } = await newService(t, s3.env());
    await until(() => s3.asked.includes('PUT'));
    service.signal('SIGTERM');
    assert.deepEqual(await service.ended, { code: 0, signal: null });
    assert.deepEqual(readdirSync(join(cwd, 'data')), ['backscroll.db']);
    assert.doesNotMatch(service.output(), /the backup failed/);
  });

  it('does not start with a wrong setting', async (t) => {
    const { cwd } = await newDatabase(t);
    const port = `${await freePort()}`;
    const cases: [env: Record<string, string>, expected: RegExp][] = [
      [{ BACKUP_EVERY: '0h' }, /^backscroll: BACKUP_EVERY=0h: must be a number and m, h or d, such as 15m$/m],
      [{ BACKUP_EVERY: '90s' }, /BACKUP_EVERY=90s: must be/],
      [{ BACKUP_URL: 's3://bucket' }, /^AWS_ACCESS_KEY_ID must be set for s3:\/\/bucket$/m],
      [{ BACKUP_URL: 's3://Bucket' }, /BACKUP_URL=s3:\/\/Bucket: must be s3:\/\/BUCKET/],
      [
        { BACKUP_URL: 'x', DATABASE_URL: 'postgres://nobody:x@127.0.0.1:1/none' },
        /BACKUP_URL is for the embedded database/,
      ],
    ];
    for (const [env, expected] of cases) {
      const ran = await call(['serve'], { cwd, env: { PORT: port, DATABASE_WAIT: '0', ...env } });
      assert.deepEqual([ran.code, ran.stdout], [1, '']);
      assert.match(ran.stderr, expected);
    }
  });
});

it('a service without BACKUP_URL loads none of it, nor what OpenAI clients need before their first request', async (t) => {
  const { cwd } = await newDatabase(t);
  const preload = join(cwd, 'loaded.mjs');
  const report = "load(url, context, next) { console.error('loads', url); return next(url, context); }";
  await writeFile(preload, `import { registerHooks } from 'node:module';\nregisterHooks({ ${report} });\n`);
  const loaded = async (env: Record<string, string>) => {
    const options = { command: process.execPath, before: ['--import', preload, launcher] };
    const child = start(['serve'], { cwd, ...options, env: { PORT: '0', WORKERS: '1', ...env } });
    let output = '';
    child.stderr.on('data', (chunk) => (output += chunk));
    child.stdout.on('data', (chunk) => (output += chunk));
    await until(() => /http:\/\/127/.test(output));
    child.kill('SIGTERM');
    await once(child, 'exit');
    return (
      output.match(/loads .*(?:\/src\/backup\/|aws4fetch|scheduled-backups|\/cli\/backup|openai\/operations).*/g) ?? []
    );
  };
  assert.deepEqual(await loaded({}), []);
  const s3 = await FakeS3.start(t);
  assert.ok((await loaded(s3.env())).some((line) => line.includes('aws4fetch')));
});

describe('the schedule of backups', { concurrency: 2 }, () => {
  /** A store of which so many processes keep backups, with a clock of its own. */
  async function newSchedule(t: TestContext, processes: number) {
    const service = await startService('sqlite');
    let now = 1_800_000_000;
    let failure: string | undefined;
    const made: number[] = [];
    const attempts: number[] = [];
    let looks = 0;
    const { store } = service;
    const warnings: string[] = [];
    const logger = { info: () => undefined, warn: (_: object, text: string) => warnings.push(text) };
    const options = {
      ...{ store, clock: () => now * 1000, everySeconds: 3_600, tickMillis: 10 },
      logger: logger as unknown as Parameters<typeof backUpRegularly>[0]['logger'],
      sendErasures: async () => ++looks,
      backUp: async () => {
        attempts.push(now);
        if (failure !== undefined) throw new Error(failure);
        made.push(now);
        await store.run('noteJob', { kind: 'store', at: now });
        return '';
      },
    };
    const schedules = Array.from({ length: processes }, () => backUpRegularly(options));
    t.after(async () => {
      for (const schedule of schedules) await schedule.end();
      await service.close();
    });
    return {
      ...{ made, attempts, warnings },
      /** It has looked at the time since. */
      untilLooked: async () => {
        const before = looks;
        await until(() => looks > before + 1);
      },
      fail: (text: string | undefined) => {
        failure = text;
      },
      advance: (seconds: number) => {
        now += seconds;
      },
    };
  }

  it('is that of one process at a time', async (t) => {
    const { made, advance, attempts } = await newSchedule(t, 2);
    for (const count of [1, 2, 3]) {
      await until(() => made.length === count);
      advance(3_600);
    }
    await until(() => made.length === 4);
    assert.deepEqual(made, [...new Set(made)]);
    assert.deepEqual(attempts, made);
  });

  it('waits longer after each failure, but not longer than until the next backup', async (t) => {
    const { made, advance, attempts, fail, warnings, untilLooked } = await newSchedule(t, 1);
    await until(() => made.length === 1);
    fail('no space');
    advance(3_600);
    for (const [at, pause] of [60, 120, 240, 480, 960, 1_920, 3_600, 3_600].entries()) {
      await until(() => warnings.length === at + 1);
      advance(pause - 1);
      await untilLooked();
      assert.equal(attempts.length, at + 2);
      advance(1);
    }
    fail(undefined);
    await until(() => made.length === 2);
  });
});
