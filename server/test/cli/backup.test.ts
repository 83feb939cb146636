import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { chmod, chown, copyFile, link, mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, it } from 'node:test';
import { backUpUnderLoad } from '../../../experiments/backup.ts';
import { addedVersion, currentVersion, withAddedStep } from '../../../experiments/support/added-step.ts';
import {
  type CommandResult,
  call,
  command,
  newFolder,
  oneLine,
  run,
  runMany,
  type Scope,
  serve,
  withFileSizeLimit,
} from '../support/cli-helpers.ts';
import { makeTwoTenants, message, ndjson, startService } from '../support/harness.ts';
import { itLong } from '../support/long.ts';
import { until } from '../support/until.ts';

const database = 'data/backscroll.db';

async function newDatabase(scope: Scope, records: readonly object[]): Promise<string> {
  const cwd = await newFolder(scope);
  assertSuccess(await call(['import', '-'], { cwd, stdin: ndjson(records) }));
  return cwd;
}

function assertSuccess({ code, stdout, stderr }: CommandResult): string {
  assert.deepEqual([code, stderr], [0, '']);
  return stdout;
}

function assertFailed({ code, stdout, stderr }: CommandResult, expected: RegExp): void {
  assert.deepEqual([code, stdout], [1, '']);
  assert.match(stderr, oneLine);
  assert.match(stderr, expected);
}

describe('backup', { concurrency: 3 }, () => {
  itLong('is complete and consistent under constant writes, and can be restored', async () => {
    for (const { promise, measured, holds } of await backUpUnderLoad({ messages: 500, writers: 2, backups: 3 })) {
      assert.ok(holds, `${promise}: ${measured}`);
    }
  });

  it('is known to the service, as an export is: the metrics have their age', async (t) => {
    const { admin, records } = makeTwoTenants();
    const cwd = await newDatabase(t, records);
    const service = await startService('sqlite', {}, `sqlite:${join(cwd, database)}`);
    t.after(() => service.close());
    const ages = async () => {
      const { text } = await service.as(admin).get('/metrics');
      return [...text.matchAll(/^backscroll_backup_age_seconds\{kind="(\w+)"\} (\d+)$/gm)];
    };
    assert.deepEqual(await ages(), []);
    assertSuccess(await call(['backup', 'out.db'], { cwd }));
    assertSuccess(await call(['export', 'out.ndjson'], { cwd }));
    service.advanceClock(3_600);
    const found = await ages();
    assert.deepEqual(
      found.map(([, kind]) => kind),
      ['backup', 'export'],
    );
    for (const [, , age = ''] of found) assert.ok(Number(age) >= 3_600 && Number(age) < 3_600 + 600, age);
  });

  it('is a complete copy in a single file that only its owner can read, and replaces an older one', async (t) => {
    const cwd = await newDatabase(t, makeTwoTenants().records);
    await writeFile(join(cwd, 'out.db'), 'an older backup', { mode: 0o644 });
    const before = readdirSync(join(cwd, 'data'));
    assert.match(assertSuccess(await call(['backup', 'out.db'], { cwd })), /^backed up \d+\.\d MB in \d+\.\d s\n$/);
    assert.equal(statSync(join(cwd, 'out.db')).mode & 0o777, 0o600);
    assert.deepEqual(readdirSync(cwd).sort(), ['data', 'out.db']);
    assert.deepEqual(readdirSync(join(cwd, 'data')), before);
    const exported = assertSuccess(await call(['export'], { cwd }));
    assert.match(exported, /chunk text/);
    const restored = { DATABASE_URL: 'sqlite:out.db' };
    assert.equal(assertSuccess(await call(['export'], { cwd, env: restored })), exported);
    await symlink('out.db', join(cwd, 'link'));
    await writeFile(join(cwd, 'out.db'), '');
    assertSuccess(await call(['backup', 'link'], { cwd }));
    assert.ok(statSync(join(cwd, 'out.db')).size > 0, 'a link is followed');
    assertFailed(
      await call(['backup', 'no/such/folder.db'], { cwd }),
      /^no\/such\/folder\.db: no such file or folder$/m,
    );
  });

  it('never overwrites the database, and neither does an export, whatever path names it', async (t) => {
    const { one, records } = makeTwoTenants();
    const cwd = await newDatabase(t, records);
    await mkdir(join(cwd, 'other'));
    await symlink(join('..', database), join(cwd, 'other', 'link'));
    await symlink('data', join(cwd, 'folder'));
    await link(join(cwd, database), join(cwd, 'other', 'hard'));
    const names = [database, 'other/../data/backscroll.db', 'other/link', 'other/hard', 'folder/backscroll.db'];
    const databaseFiles = [
      `${database}-wal`,
      `${database}-shm`,
      'folder/backscroll.db-wal',
      'folder/backscroll.db-journal',
    ];
    for (const action of ['backup', 'export']) {
      const calls = [...names, ...databaseFiles].map((name) => ({ args: [action, name] }));
      for (const ran of await runMany(calls, { cwd })) assertFailed(ran, /the database itself/);
    }
    const service = await startService('sqlite', {}, `sqlite:${join(cwd, database)}`);
    t.after(service.close);
    for (const name of databaseFiles.slice(0, 3))
      assertFailed(await call(['backup', name], { cwd }), /the database itself/);
    const page = `/v1/messages?conversation_id=${one.ids.conversation}`;
    assert.equal((await service.as(one.keys.app).get(page)).status, 200);
  });

  it('is only for its owner once it is served, with its log, or the service warns that it is not', async (t) => {
    const cwd = await newDatabase(t, makeTwoTenants().records);
    const files = ['', '-wal', '-shm'].map((ending) => join(cwd, database + ending));
    const modes = () => files.map((file) => statSync(file).mode & 0o777);
    const other = new DatabaseSync(files[0] as string);
    t.after(() => other.close());
    other.exec('PRAGMA journal_mode = WAL; CREATE TABLE others (id INTEGER); DROP TABLE others');
    for (const file of files) await chmod(file, 0o664);
    const service = await serve(t, { cwd });
    assert.deepEqual(modes(), [0o600, 0o600, 0o600]);
    assert.doesNotMatch(service.output(), /other users/);
    await service.end();
    // Only the superuser can give a file to another user.
    if (process.getuid?.() !== 0) return;
    for (const file of files) {
      await chown(file, 65_534, 65_534);
      await chmod(file, 0o644);
    }
    const warned = await serve(t, { cwd });
    const lines = warned.output().split('\n');
    assert.equal(lines.filter((line) => line.includes('"level":40') && line.includes('backscroll.db-wal')).length, 1);
    assert.deepEqual(modes(), [0o644, 0o644, 0o644]);
  });

  it('is rejected for an empty file, a file that is not a database, and PostgreSQL', async (t) => {
    const cwd = await newFolder(t);
    await writeFile(join(cwd, 'empty.db'), '');
    await writeFile(join(cwd, 'text.db'), 'Dear diary, '.repeat(500));
    const backUp = (url: string) => call(['backup', 'out.db'], { cwd, env: { DATABASE_URL: url } });
    assertFailed(await backUp('sqlite:empty.db'), /empty\.db .*: it is empty/);
    assertFailed(await backUp('sqlite:text.db'), /text\.db.*not a database/);
    assertFailed(await backUp('postgres://nobody:secret@127.0.0.1:1/none'), /pg_dump/);
    assert.deepEqual(readdirSync(cwd).sort(), ['empty.db', 'text.db']);
  });

  it('leaves the older backup and no partial file when the disk is full', async (t) => {
    const { one, records } = makeTwoTenants();
    const filler = Array.from({ length: 200 }, (_, n) =>
      message(one.ids.conversation, n, { answer: 'x'.repeat(10_000) }),
    );
    const cwd = await newDatabase(t, [...records, ...filler]);
    await writeFile(join(cwd, 'out.db'), 'an older backup');
    assertFailed(await run(['backup', 'out.db'], { cwd, ...withFileSizeLimit(1_000) }), /could not be copied/);
    assert.deepEqual(readdirSync(cwd).sort(), ['data', 'out.db']);
    assert.equal(readFileSync(join(cwd, 'out.db'), 'utf8'), 'an older backup');
    assertSuccess(await call(['backup', 'out.db'], { cwd }));
  });

  it('leaves no partial file when a signal interrupts it', async (t) => {
    const cwd = await newDatabase(t, makeTwoTenants().records);
    // Another process locks the whole file, so that the backup waits.
    const holder = new DatabaseSync(join(cwd, database));
    t.after(async () => holder.close());
    holder.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN IMMEDIATE; COMMIT');
    const child: ChildProcess = spawn(command, ['backup', 'out.db'], { cwd, stdio: 'ignore' });
    const ended = once(child, 'exit');
    const partial = () => readdirSync(cwd).some((name) => name.endsWith('.partial'));
    await until(() => partial() || child.exitCode !== null);
    child.kill('SIGINT');
    assert.deepEqual(await ended, [null, 'SIGINT']);
    assert.deepEqual(readdirSync(cwd), ['data']);
  });

  it('copies an older schema unchanged, which is migrated when it is restored', async (t) => {
    const cwd = await newDatabase(t, makeTwoTenants().records);
    const env = withAddedStep();
    assert.equal((await run(['backup', 'out.db'], { cwd, env })).code, 0);
    const versionOf = (file: string) => {
      const db = new DatabaseSync(join(cwd, file), { readOnly: true });
      const row = db.prepare('SELECT MAX(version) AS version FROM schema_migrations').get();
      db.close();
      return row?.version;
    };
    assert.deepEqual([versionOf(database), versionOf('out.db')], [currentVersion, currentVersion]);
    // As described in docs/run/backup.md.
    for (const suffix of ['-wal', '-shm']) await rm(join(cwd, database + suffix), { force: true });
    await copyFile(join(cwd, 'out.db'), join(cwd, database));
    assert.equal((await run(['migrate'], { cwd, env })).code, 0);
    assert.equal(versionOf(database), addedVersion);
  });
});
