import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { describe, it } from 'node:test';
import { killServing } from '../../torture/crash.ts';
import { fileOf, type Installation, install } from '../../torture/support/installation.ts';
import { sendRequest } from '../support/cli-helpers.ts';
import { shortOrLong } from '../support/harness.ts';
import { until } from '../support/until.ts';

const patch = (base: string, world: Installation, at: number, content: string) =>
  sendRequest(base, world.chunks[at]?.path ?? '', world.one.keys.knowledge, { method: 'PATCH', json: { content } });

/** Takes the write lock as another process would. */
function lock(file: string): { release: () => void } {
  const db = new DatabaseSync(file, { timeout: 5_000 });
  db.exec('BEGIN IMMEDIATE');
  return {
    release: () => {
      if (!db.isOpen) return;
      db.exec('ROLLBACK');
      db.close();
    },
  };
}

describe('durability', { concurrency: 3 }, () => {
  it('loses no acknowledged write and keeps no half import over 5 kills', async (t) => {
    const findings = await killServing({ kills: shortOrLong(5, 60), databases: 1, auditEvery: 5 });
    for (const { promise, measured } of findings) t.diagnostic(`${promise}: ${measured}`);
    assert.ok(findings.length >= 6);
    assert.deepEqual(
      findings.filter(({ holds }) => !holds),
      [],
    );
  });

  it('waits for another process that holds the write lock, and goes on when it is released', async (t) => {
    const world = await install(t, { chunks: 1 });
    const serving = await world.start();
    const held = lock(fileOf(world));
    t.after(async () => held.release());
    const pending = patch(serving.base, world, 0, 'waited');
    // While it waits, others are served.
    const page = `/v1/messages?conversation_id=${world.one.ids.conversation}`;
    for (let n = 0; n < 20; n += 1) {
      const read = sendRequest(serving.base, page, world.one.keys.app);
      assert.equal((await Promise.race([pending, read])).body.data.content, undefined);
    }
    held.release();
    const { status, body } = await pending;
    assert.deepEqual([status, body.data?.content], [200, 'waited']);
  });

  it('answers 503 after 5 seconds of lock, while reading goes on', async (t) => {
    const world = await install(t, { chunks: 1 });
    const serving = await world.start();
    const held = lock(fileOf(world));
    t.after(async () => held.release());
    let answered = false;
    const pending = patch(serving.base, world, 0, 'never').finally(() => {
      answered = true;
    });
    let pages = 0;
    await until(async () => {
      const path = `/v1/messages?conversation_id=${world.one.ids.conversation}`;
      assert.equal((await sendRequest(serving.base, path, world.one.keys.app)).status, 200);
      pages += 1;
      return answered;
    });
    assert.ok(pages > 20, `${pages} pages`);
    const { status, body, headers } = await pending;
    assert.equal(status, 503);
    assert.deepEqual(Object.keys(body).sort(), ['code', 'message', 'status']);
    assert.deepEqual([body.status, body.code], [503, 'service_unavailable']);
    assert.match(headers.get('retry-after') ?? '', /^\d+$/);
    held.release();
    // What was refused is not done later, and the next one is taken.
    assert.equal((await patch(serving.base, world, 0, 'taken')).status, 200);
    const { text } = await sendRequest(serving.base, '/admin/records', world.admin);
    assert.ok(text.includes('"taken"') && !text.includes('"never"'));
  });

  it('commits edits that have queued up together', async (t) => {
    const world = await install(t, { chunks: 40 });
    const serving = await world.start();
    const held = lock(fileOf(world));
    t.after(async () => held.release());
    const pending = world.chunks.map((_, at) => patch(serving.base, world, at, `queued ${at}`));
    await until(async () => {
      const { text } = await sendRequest(serving.base, '/metrics', world.admin);
      // The request that reads the metrics is in flight too.
      return text.includes(`backscroll_http_requests_in_flight ${world.chunks.length + 1}\n`);
    });
    const before = commitsIn(`${fileOf(world)}-wal`);
    held.release();
    const replies = await Promise.all(pending);
    assert.deepEqual([...new Set(replies.map(({ status }) => status))], [200]);
    for (const [at, { body }] of replies.entries()) assert.equal(body.data.content, `queued ${at}`);
    const commits = commitsIn(`${fileOf(world)}-wal`) - before;
    assert.ok(commits >= 1 && commits <= 10, `${commits} commits for 40 edits`);
  });
});

/** Commits in a write-ahead log: frames of its current generation that carry the size of the database. */
function commitsIn(file: string): number {
  const wal = readFileSync(file);
  if (wal.length < 32) return 0;
  const frameBytes = 24 + wal.readUInt32BE(8);
  const salts = wal.subarray(16, 24);
  let commits = 0;
  for (let at = 32; at + frameBytes <= wal.length; at += frameBytes) {
    if (!wal.subarray(at + 8, at + 16).equals(salts)) break;
    if (wal.readUInt32BE(at + 4) !== 0) commits += 1;
  }
  return commits;
}
