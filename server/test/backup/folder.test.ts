import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { cp, mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, it } from 'node:test';
import { filesContaining, oneLine, run, withFileSizeLimit } from '../support/cli-helpers.ts';
import { message, ndjson, startService } from '../support/harness.ts';
import { newDatabase, rowsOf, text, time } from './backup-fixture.ts';

describe('a store of backups in a folder', { concurrency: 3 }, () => {
  it('restores the same records, for its owner only, and ends cursors and sessions', async (t) => {
    const { cwd, database, store, succeed, backUp, exported } = await newDatabase(t);
    const db = new DatabaseSync(database);
    db.exec("INSERT INTO console_sessions (digest, created_at, expires_at) VALUES ('digest', 1, 9999999999)");
    db.close();
    const before = await exported();
    const id = await backUp();
    assert.deepEqual(readdirSync(join(cwd, 'data')), ['backscroll.db']);
    assert.deepEqual(readdirSync(join(store, id)).sort(), ['data.zst', 'manifest.json']);
    for (const name of ['data.zst', 'manifest.json']) assert.equal(statSync(join(store, id, name)).mode & 0o777, 0o600);
    const manifest = JSON.parse(readFileSync(join(store, id, 'manifest.json'), 'utf8'));
    assert.equal(manifest.records.message, before.split('\n').filter((line) => line.includes('"message"')).length);
    assert.match(await succeed(['backup', 'list', 'store']), new RegExp(`^${id}  ${time(id)}  \\d.*messages`));

    const said = await succeed(['restore', 'store/'], { DATABASE_URL: 'sqlite:new/folder/restored.db' });
    assert.match(said, new RegExp(`^restored backup ${id} .*restored.db`));
    assert.match(said, new RegExp(`does not know what was erased after ${time(id)}`));
    const file = join(cwd, 'new', 'folder', 'restored.db');
    assert.deepEqual(readdirSync(join(cwd, 'new', 'folder')), ['restored.db']);
    assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.equal(await exported(file), before);
    assert.deepEqual(rowsOf(file, 'SELECT * FROM console_sessions'), []);
    const again = join(cwd, 'again.db');
    await succeed(['restore'], { DATABASE_URL: `sqlite:${again}`, BACKUP_URL: `file://${store}` });
    const epochs = [database, file, again].map((one) => rowsOf(one, 'SELECT epoch FROM changes_head')[0]?.epoch);
    assert.equal(new Set(epochs).size, 3);
  });

  it('restores an old backup without what was erased later, and keeps its tombstones', async (t) => {
    const { cwd, database, one, admin, conversation, succeed, backUp, exported, rename, ids } = await newDatabase(t);
    const [again, partly] = [randomUUID(), randomUUID()];
    const newConversation = (id: string) => ({ record: 'conversation', id, app_id: one.ids.app, user: 'ann' });
    const message1 = message(partly, 1, { query: text });
    await succeed(['import', '-'], {}, ndjson([newConversation(again), message(again, 1, { query: text })]));
    // Erased and created again before the backup: it stays.
    await succeed(['purge', '--conversation', again, '--yes']);
    const stays = [newConversation(again), newConversation(partly), message(again, 2), message1, message(partly, 2)];
    await succeed(['import', '-'], {}, ndjson(stays));
    const old = await rename(await backUp(), '20260101T000000Z-00000000');
    const before = await exported();
    assert.match(before, new RegExp(text));

    await succeed(['purge', '--conversation', conversation.id, '--yes']);
    const service = await startService('sqlite', {}, `sqlite:${database}`);
    const path = `/admin/apps/${one.ids.app}/conversations/${partly}/messages/${message1.id}`;
    assert.equal((await service.as(admin).delete(path)).status, 204);
    await service.close();
    await backUp();
    const objects = readdirSync(join(cwd, 'store', 'erased')).map((name) =>
      readFileSync(join(cwd, 'store', 'erased', name), 'utf8'),
    );
    assert.match(objects.join(''), new RegExp(conversation.id));
    assert.doesNotMatch(objects.join(''), new RegExp(text));
    assert.equal(ids()[0], old);

    const said = await succeed(['restore', 'store', '--at', '2026-01-01'], { DATABASE_URL: 'sqlite:old.db' });
    assert.match(said, /erased again: 1 conversation with 4 messages/);
    const restored = await exported('old.db');
    const erasedIds = [conversation.id, message1.id];
    const expected = before.split('\n').filter((line) => !erasedIds.some((id) => line.includes(id)));
    assert.equal(restored, expected.join('\n'));
    assert.deepEqual(filesContaining(join(cwd, 'old.db'), text), []);
    const tombstones = 'SELECT conversation_id, message_id FROM tombstones WHERE in_backups = 1 ORDER BY message_id';
    assert.deepEqual(rowsOf(join(cwd, 'old.db'), tombstones), rowsOf(database, tombstones));
  });

  it('applies the erasures of an old database, and names keys that were revoked later', async (t) => {
    const { cwd, conversation, one, succeed, backUp, exported, store } = await newDatabase(t);
    await backUp();
    await cp(store, join(cwd, 'other'), { recursive: true });
    await succeed(['purge', '--conversation', conversation.id, '--yes']);
    await succeed(['keys', 'revoke', one.keyIds.app]);
    const old = ['--tombstones', 'data/backscroll.db'];
    const said = await succeed(['restore', 'other', ...old], { DATABASE_URL: 'sqlite:a.db' });
    assert.match(said, /erased again: 1 conversation with 3 messages/);
    const line = `valid again, although it was revoked later: key ${one.keyIds.app} app\n`;
    assert.equal(said.match(/valid again.*\n/g)?.join(''), line);
    assert.doesNotMatch(await exported('a.db'), new RegExp(text));
    // The next backup of the store knows it too.
    await backUp();
    const first = ['restore', 'store', '--at', (await succeed(['backup', 'list', 'other'])).split('  ')[1] ?? ''];
    assert.ok((await succeed(first, { DATABASE_URL: 'sqlite:b.db' })).includes(line));
    const revoked = await succeed([...first, '--revoke-keys'], { DATABASE_URL: 'sqlite:c.db' });
    assert.match(revoked, /revoked all 9 keys/);
    assert.doesNotMatch(revoked, /valid again/);
    assert.deepEqual(rowsOf(join(cwd, 'c.db'), 'SELECT id FROM api_keys WHERE revoked_at IS NULL'), []);
  });

  it('keeps as many backups, or those of as many days, as BACKUP_KEEP says, and always the newest', async (t) => {
    const { store, backUp, rename, ids } = await newDatabase(t);
    const first = await rename(await backUp(), '20260101T000000Z-00000000');
    const second = await backUp({ BACKUP_KEEP: '2' });
    assert.deepEqual(ids(), [first, second]);
    const third = await backUp({ BACKUP_KEEP: '2' });
    assert.deepEqual(ids(), [second, third].sort());
    await rename(second, '20260101T000000Z-00000000');
    await rename(third, '20260102T000000Z-00000000');
    await mkdir(join(store, 'photos'));
    await writeFile(join(store, 'notes.txt'), 'not a backup');
    const fourth = await backUp({ BACKUP_KEEP: '30d' });
    assert.deepEqual(ids(), [fourth, 'notes.txt', 'photos']);
    // Made in the same second, and when the clock was wrong: the one that is made last is the newest all the same.
    for (const id of ['20260101T000000Z-ffffffff', '20990101T000000Z-00000000']) {
      await rename(ids()[0] ?? '', id);
      const newest = await backUp({ BACKUP_KEEP: '1' });
      assert.deepEqual(ids(), [newest, 'notes.txt', 'photos']);
    }
  });

  it('removes what killed runs have left, but nothing of a run that goes on', async (t) => {
    const { cwd, database, store, succeed, backUp, ids, fail } = await newDatabase(t);
    const first = await backUp();
    const left = join(store, '20260101T000000Z-11111111');
    await mkdir(left);
    await writeFile(join(left, 'data.zst'), 'complete, but without a manifest');
    const other = join(store, '20260101T000000Z-22222222');
    await mkdir(other);
    await writeFile(join(other, 'data.zst.partial'), 'a part');
    const dead = 4_194_303;
    const partials = [database, join(cwd, 'out.db'), join(cwd, 'out.ndjson')].map(
      (file) => `${file}.${dead}-0badcafe.partial`,
    );
    for (const file of partials) writeFileSync(file, 'a part');
    for (const ending of ['-wal', '-shm']) writeFileSync(partials[0] + ending, '');
    const running = `${join(cwd, 'out.db')}.${process.pid}-0badcafe.partial`;
    await writeFile(running, 'still written');
    const unrelated = `${join(cwd, 'out.db')}.partial`;
    await writeFile(unrelated, 'of another program');

    const list = await succeed(['backup', 'list', 'store']);
    assert.match(list, new RegExp(`^${first}  [^\n]*\n$`), 'only what is complete');
    const next = await backUp();
    assert.deepEqual(ids(), [first, next].sort());
    assert.deepEqual(readdirSync(join(cwd, 'data')), ['backscroll.db']);
    await succeed(['backup', 'out.db']);
    await succeed(['export', 'out.ndjson']);
    assert.deepEqual(readdirSync(cwd).sort(), [
      ...['data', 'out.db', `out.db.${process.pid}-0badcafe.partial`, 'out.db.partial', 'out.ndjson', 'store'],
    ]);
    await rm(store, { recursive: true });
    await fail(/store: there is no backup$/m, ['restore', 'store'], { DATABASE_URL: 'sqlite:x.db' });
  });
});

describe('bad input gets one line, and nothing is lost', () => {
  it('for each damage of a backup, each file that exists, and each wrong argument or setting', async (t) => {
    const { cwd, database, store, backUp, fail, runHere, exported, ids } = await newDatabase(t);
    const before = await exported();
    const id = await backUp();
    const [data, manifest] = ['data.zst', 'manifest.json'].map((name) => join(store, id, name)) as [string, string];
    const bytes = { data: readFileSync(data), manifest: readFileSync(manifest) };
    const restored = join(cwd, 'restored.db');
    const env = { DATABASE_URL: `sqlite:${restored}` };
    const restore = ['restore', 'store'];
    const changed = (change: object) => JSON.stringify({ ...JSON.parse(`${bytes.manifest}`), ...change });

    const flipped = Buffer.from(bytes.data);
    flipped[flipped.length >> 1] = (flipped[flipped.length >> 1] ?? 0) ^ 1;
    const damages: [file: string, content: string | Buffer, expected: RegExp][] = [
      [data, flipped, /store: the data of backup .* is damaged/],
      [data, bytes.data.subarray(0, -9), /the data of backup .* is damaged: it has \d+ of \d+ bytes|is damaged: .*end/],
      [data, Buffer.concat([bytes.data, Buffer.alloc(9)]), /is damaged: it has more than \d+ bytes/],
      [data, Buffer.alloc(bytes.data.length), /is damaged/],
      [manifest, '{"schema":', /the manifest of backup .* is damaged: use another backup/],
      [manifest, changed({ sha256: '0'.repeat(64) }), /is damaged: its digest differs/],
      [manifest, changed({ sha256: 7 }), /the manifest of backup .* is damaged/],
      [manifest, changed({ bytes: -1 }), /the manifest of backup .* is damaged/],
      [manifest, changed({ database_bytes: 4096 }), /does not have the size of its manifest/],
      [manifest, changed({ database_bytes: 1e15 }), /1000000000\.0 MB of free space are needed, and there are/],
      [manifest, changed({ schema: 9_999 }), /schema 9999, newer than this program's \d+: run a newer backscroll/],
    ];
    for (const [file, content, expected] of damages) {
      await writeFile(file, content);
      await fail(expected, restore, env);
      await writeFile(data, bytes.data);
      await writeFile(manifest, bytes.manifest);
    }
    const older = '20260101T000000Z-00000000';
    await cp(join(store, id), join(store, older), { recursive: true });
    await writeFile(manifest, '{}');
    assert.match(
      (await runHere(['backup', 'list', 'store'])).stdout,
      /^20260101.* messages .*\n.* damaged: use another/,
    );
    const ofOlder = await runHere([...restore, '--at', '2026-01-01'], env);
    assert.deepEqual([ofOlder.code, ofOlder.stderr], [0, ''], 'beside a damaged one');
    await rm(restored);
    await rm(join(store, older), { recursive: true });
    await writeFile(manifest, bytes.manifest);
    for (const ending of ['', '-wal', '-journal']) {
      await writeFile(restored + ending, 'something');
      await fail(/restored\.db.* exists, and a restore never replaces a file/, restore, env);
      assert.equal(readFileSync(restored + ending, 'utf8'), 'something');
      await rm(restored + ending);
    }
    await writeFile(join(store, 'erased'), 'a file');
    await fail(/ENOTDIR|not a directory/, ['backup'], { BACKUP_URL: 'store/erased' });
    await rm(join(store, 'erased'));
    await mkdir(join(store, 'erased'));
    await writeFile(join(store, 'erased', '20990101T000000Z-00000000.json'), '{"erased":[{}]}');
    await fail(/erased\/20990101T000000Z-00000000\.json is damaged: remove it/, restore, env);
    await rm(join(store, 'erased'), { recursive: true });

    await fail(/there is no backup so old: the oldest is \d{8}T/, [...restore, '--at', '2020-01-01'], env);
    await fail(/no such file or folder|ENOENT/, ['backup', 'no/such/folder/']);
    await fail(/no database at none\.db/, ['restore', 'store', '--tombstones', 'none.db'], env);
    await fail(/the database store.* cannot be read/, ['restore', 'store', '--tombstones', 'store'], env);
    const postgres = { DATABASE_URL: 'postgres://nobody:secret@127.0.0.1:1/none', BACKUP_URL: 'store' };
    for (const args of [['backup'], ['backup', 'list'], ['restore']])
      await fail(/this is PostgreSQL: use pg_dump.*docs\/run\/backup\.md/, args, postgres);
    for (const args of [['backup'], ['restore'], ['backup', 'list'], ['backup', 'list', 'a', 'b']])
      assert.deepEqual([(await runHere(args)).code, (await runHere(args)).stdout], [2, '']);
    const settings: [name: string, value: string, expected: RegExp][] = [
      ['BACKUP_URL', 's3://key:secret@bucket/x', /^backscroll: BACKUP_URL=s3:\/\/…@bucket\/x: must be/],
      ['BACKUP_URL', 's3://bucket/../x', /BACKUP_URL/],
      ['BACKUP_URL', 'https://bucket/x?secret=1', /BACKUP_URL=https:\/\/bucket\/x\?…: must be/],
      ['BACKUP_KEEP', '0', /BACKUP_KEEP=0: must be a number of backups such as 14/],
      ['BACKUP_KEEP', '14w', /BACKUP_KEEP=14w/],
    ];
    for (const [name, value, expected] of settings) await fail(expected, ['backup'], { [name]: value });

    assert.deepEqual(ids(), [id]);
    assert.deepEqual(readdirSync(cwd).sort(), ['data', 'store']);
    assert.equal(await exported(), before);
    assert.deepEqual(readdirSync(join(cwd, 'data')), ['backscroll.db']);
    assert.ok(existsSync(database));
    assert.equal((await runHere(restore, env)).code, 0);
    assert.equal(await exported(restored), before);
  });

  it('keeps the last good backup when the next one cannot be stored or read back', async (t) => {
    const { cwd, store, backUp, fail, ids } = await newDatabase(t);
    const id = await backUp({ BACKUP_KEEP: '1' });
    // A disk that is too small, as root is never denied to write.
    const limited = await run(['backup'], {
      cwd,
      env: { BACKUP_URL: 'store', BACKUP_KEEP: '1' },
      ...withFileSizeLimit(1),
    });
    assert.equal(limited.code, 1);
    assert.match(limited.stderr, oneLine);
    assert.deepEqual(ids(), [id]);
    const folder = join(cwd, 'file');
    await writeFile(folder, '');
    await fail(/file/, ['backup', 'file/']);
    assert.deepEqual(readdirSync(store), [id]);
  });
});
