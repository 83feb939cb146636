import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, it, type TestContext } from 'node:test';
import { call, filesContaining, newFolder, sendRequest, serve } from '../support/cli-helpers.ts';
import { makeTwoTenants, message, ndjson } from '../support/harness.ts';
import { until } from '../support/until.ts';

const text = 'thetextthatiserased';

/** A service with a conversation to erase, and another connection to its file, as another process has. */
async function newService(t: TestContext) {
  const cwd = await newFolder(t);
  const { one, admin, records } = makeTwoTenants();
  const conversation = { record: 'conversation', id: randomUUID(), app_id: one.ids.app, user: 'eve' };
  const messages = [1, 2, 3].map((at) => message(conversation.id, at, { query: text.repeat(400) }));
  const others = Array.from({ length: 200 }, (_, at) =>
    message(one.ids.conversation, at, { answer: 'x'.repeat(2_000) }),
  );
  const imported = await call(['import', '-'], { cwd, stdin: ndjson([...records, ...others]) });
  assert.equal(imported.code, 0, imported.stderr);
  const { base } = await serve(t, { cwd });
  const file = join(cwd, 'data', 'backscroll.db');
  const open = () => {
    const db = new DatabaseSync(file, { timeout: 10_000 });
    t.after(() => db.close());
    return db;
  };
  const append = async (lines: object[]) => {
    const { status } = await sendRequest(base, '/admin/records', admin, { method: 'POST', lines: ndjson(lines) });
    assert.equal(status, 200);
  };
  await append([conversation, ...messages]);
  const get = async (path: string) => (await sendRequest(base, path, admin)).body;
  return {
    cwd,
    file,
    open,
    append: () => append([message(one.ids.conversation, 1_000)]),
    purge: () =>
      sendRequest(base, '/admin/purge', admin, { method: 'POST', json: { conversation_id: conversation.id } }),
    page: () => sendRequest(base, `/v1/messages?conversation_id=${conversation.id}`, one.keys.app),
    state: async () => (await get('/health/ready')).erased_copies,
    entry: async () => (await get('/admin/activity?action=purge')).data[0],
    waitsSeconds: async () =>
      Number(/^backscroll_erased_copies_seconds (\d+)$/m.exec((await sendRequest(base, '/metrics', admin)).text)?.[1]),
    copies: () => filesContaining(file, text),
  };
}

function beginRead(db: DatabaseSync): void {
  db.exec('BEGIN');
  db.prepare('SELECT COUNT(*) FROM messages').get();
}

describe('copies of erased texts in the files of the embedded database', { concurrency: 3 }, () => {
  it('stay while another process reads older data, are removed when it ends, and do not cause another rebuild', async (t) => {
    const { cwd, file, open, purge, page, state, entry, waitsSeconds, copies } = await newService(t);
    const values = open().prepare(`
      SELECT (SELECT rules FROM search_state) <> '' AS hasIndex, COUNT(*) AS marks FROM service_values WHERE name = 'copies_in_log'`);
    // A new index leaves copies in the log, too, but nothing was erased.
    await until(() => {
      const { hasIndex, marks } = values.get() ?? {};
      return hasIndex === 1 && marks === 0;
    });
    assert.equal(await state(), undefined);
    const reader = open();
    beginRead(reader);
    const { status, body } = await purge();
    assert.deepEqual([status, body.messages, body.copies], [200, 3, ['files']]);
    assert.equal((await page()).status, 404);
    assert.notDeepEqual(copies(), []);
    const { at, cleaned_at } = await entry();
    assert.deepEqual([await state(), cleaned_at], [{ waiting_since: at, cleaned_at: null }, null]);
    assert.ok((await waitsSeconds()) > 0);
    // The rebuilt file is in the log.
    const logBytes = await until(() => {
      const { size } = statSync(`${file}-wal`);
      return size > statSync(file).size / 2 && size;
    });
    const retained = await call(['retain'], { cwd });
    assert.deepEqual([retained.code, retained.stdout], [0, 'nothing is due\n']);
    assert.ok(statSync(`${file}-wal`).size - logBytes < statSync(file).size / 2, 'the file was rebuilt once');

    reader.exec('COMMIT');
    await until(async () => (await state()).waiting_since === null);
    assert.deepEqual(copies(), []);
    const cleaned = await entry();
    assert.ok(cleaned.cleaned_at >= cleaned.at);
    assert.equal((await state()).cleaned_at, cleaned.cleaned_at);
    assert.equal(await waitsSeconds(), 0);
  });

  it('are removed beside a replicator, which always reads, as soon as it has started the log again', async (t) => {
    const { open, append, purge, state, copies } = await newService(t);
    const [replicator, writer] = [open(), open()];
    writer.exec('CREATE TABLE _litestream_seq (id INTEGER PRIMARY KEY, seq INTEGER)');
    beginRead(replicator);
    assert.deepEqual((await purge()).body.copies, ['files', 'replica']);
    await until(async () => {
      // Another write may come between the checkpoint and the next read: then the log continues.
      replicator.exec('COMMIT');
      writer.exec('PRAGMA wal_checkpoint(PASSIVE)');
      beginRead(replicator);
      writer.exec('INSERT INTO _litestream_seq DEFAULT VALUES');
      await append();
      return (await state()).waiting_since === null;
    });
    assert.deepEqual(copies(), []);
    assert.equal(replicator.prepare('SELECT COUNT(*) AS n FROM conversations').get()?.n, 2);
    replicator.exec('COMMIT');
    assert.equal(writer.prepare('PRAGMA integrity_check').get()?.integrity_check, 'ok');
    assert.deepEqual(writer.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get()?.busy, 0);
    assert.equal(writer.prepare('PRAGMA integrity_check').get()?.integrity_check, 'ok');
  });

  it('are removed beside readers that renew their snapshots, although one of them always reads', async (t) => {
    const { open, purge, state, copies } = await newService(t);
    const readers = [open(), open()];
    for (const reader of readers) beginRead(reader);
    assert.deepEqual((await purge()).body.copies, ['files']);
    await until(async () => {
      const [reader] = readers.reverse() as [DatabaseSync];
      reader.exec('COMMIT');
      beginRead(reader);
      return (await state()).waiting_since === null;
    });
    assert.deepEqual(copies(), []);
  });
});
