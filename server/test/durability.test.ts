import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { ask, newFolder, run, type Scope, serve } from './cli-helpers.ts';
import { chunkPath, makeWorld, message, ndjson } from './harness.ts';

type World = Awaited<ReturnType<typeof makeInstallation>>;

/** A database file with one tenant and `chunks` child chunks, not yet served. */
async function makeInstallation(scope: Scope, chunks: number) {
  const cwd = await newFolder(scope);
  const file = join(cwd, 'test.db');
  const env = { DATABASE_URL: `sqlite:${file}`, LOG_LEVEL: 'warn' };
  const { one, admin, records } = makeWorld();
  const chunkIds = Array.from({ length: chunks }, () => randomUUID());
  const more = chunkIds.map((id, at) => ({
    record: 'child_chunk',
    id,
    segment_id: one.ids.segment,
    position: at + 2,
    content: 'text 0',
  }));
  const stdin = ndjson([...records, ...more, message(one.ids.conversation, 1)]);
  const { code, stderr } = await run(['import', '-'], { cwd, env, stdin });
  assert.equal(code, 0, stderr);
  const paths = chunkIds.map((chunk) => chunkPath({ ...one.ids, chunk }));
  // The address is read from the log.
  const start = () => serve(scope, { cwd, env: { ...env, LOG_LEVEL: 'info' } });
  return { file, one, admin, chunkIds, paths, start };
}

const patch = (base: string, world: World, path: string, content: string) =>
  ask(base, path, world.one.keys.knowledge, { method: 'PATCH', json: { content } });

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

const text = (n: number): string => `text ${n}`;

describe('durability', { concurrency: 3 }, () => {
  it('loses no acknowledged write and keeps no half import over 10 kills', async (t) => {
    const world = await makeInstallation(t, 4);
    const { one, admin, paths, chunkIds } = world;
    /** Per chunk: the number last acknowledged and last sent. */
    const edits = paths.map(() => ({ acknowledged: 0, sent: 0 }));
    const batches: { name: string; size: number; acknowledged: boolean }[] = [];
    let killedWithWorkInFlight = 0;

    for (let round = 0; round < 10; round += 1) {
      const serving = await world.start();
      let inFlight = 0;
      let running = true;
      const client = async (turn: () => Promise<void>) => {
        while (running) {
          inFlight += 1;
          await turn();
          inFlight -= 1;
        }
      };
      const editors = edits.map((edit, at) =>
        client(async () => {
          edit.sent += 1;
          const { status } = await patch(serving.base, world, paths[at] ?? '', text(edit.sent));
          assert.equal(status, 200);
          edit.acknowledged = edit.sent;
        }),
      );
      // Small batches by the app's writer, and large ones, spooled to disk, by the admin.
      const writers = [0, 1, 2].map((at) =>
        client(async () => {
          const large = at === 2;
          const batch = { name: `batch ${randomUUID()}`, size: large ? 600 : 20, acknowledged: false };
          batches.push(batch);
          const answer = large ? 'x'.repeat(8_000) : 'x';
          const lines = Array.from({ length: batch.size }, (_, n) =>
            message(one.ids.conversation, 2 + n, { query: batch.name, answer }),
          );
          const key = large ? admin : one.keys.writer;
          const reply = await ask(serving.base, '/admin/records', key, { method: 'POST', lines: ndjson(lines) });
          assert.deepEqual([reply.status, reply.body], [200, { records: batch.size }]);
          batch.acknowledged = true;
        }),
      );
      const clients = Promise.allSettled([...editors, ...writers]);
      await sleep(50 + Math.random() * 350);
      killedWithWorkInFlight += inFlight > 0 ? 1 : 0;
      running = false;
      await serving.end('SIGKILL');
      // A client that was cut off did not hear back; anything else it met is a failure.
      for (const outcome of await clients)
        if (outcome.status === 'rejected' && outcome.reason instanceof assert.AssertionError) throw outcome.reason;
    }
    assert.ok(killedWithWorkInFlight >= 8);

    const serving = await world.start();
    const records = (await ask(serving.base, '/admin/records', admin)).text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    for (const [at, { acknowledged, sent }] of edits.entries()) {
      assert.ok(acknowledged > 0);
      const chunk = records.find(({ record, id }) => record === 'child_chunk' && id === chunkIds[at]);
      const stands = Number(String(chunk?.content).slice('text '.length));
      assert.ok(stands >= acknowledged && stands <= sent, `${acknowledged} <= ${stands} <= ${sent}`);
      const { body } = await ask(serving.base, paths[at] ?? '', one.keys.knowledge);
      assert.equal(body.data.content, chunk?.content);
      // Every text that was ever acknowledged is there, as a revision or as what stands; none twice.
      const kept = records
        .filter(({ record, child_chunk_id }) => record === 'child_chunk_revision' && child_chunk_id === chunkIds[at])
        .map(({ content }) => Number(String(content).slice('text '.length)));
      assert.deepEqual(
        kept,
        kept.toSorted((a, b) => a - b),
      );
      assert.equal(new Set(kept).size, kept.length);
      assert.equal(kept[0], 0);
    }
    const counts = Map.groupBy(
      records.filter(({ record }) => record === 'message'),
      ({ query }) => query,
    );
    for (const { name, size, acknowledged } of batches) {
      const count = counts.get(name)?.length ?? 0;
      assert.ok(count === size || (count === 0 && !acknowledged), `${count} of ${size}, acknowledged: ${acknowledged}`);
    }
    assert.ok(batches.some(({ size, acknowledged }) => acknowledged && size === 20));
    const check = new DatabaseSync(world.file, { readOnly: true });
    assert.deepEqual({ ...check.prepare('PRAGMA integrity_check').get() }, { integrity_check: 'ok' });
    check.close();
  });

  it('waits for another process that holds the write lock, and goes on when it is released', async (t) => {
    const world = await makeInstallation(t, 1);
    const serving = await world.start();
    const held = lock(world.file);
    t.after(async () => held.release());
    const began = performance.now();
    let answered = false;
    const pending = patch(serving.base, world, world.paths[0] ?? '', 'waited').finally(() => {
      answered = true;
    });
    await sleep(2_000);
    assert.equal(answered, false);
    held.release();
    const { status, body } = await pending;
    assert.deepEqual([status, body.data?.content], [200, 'waited']);
    assert.ok(performance.now() - began < 4_000);
  });

  it('answers 503 after 5 seconds of lock, while reading goes on', async (t) => {
    const world = await makeInstallation(t, 1);
    const serving = await world.start();
    const held = lock(world.file);
    t.after(async () => held.release());
    const began = performance.now();
    const pending = patch(serving.base, world, world.paths[0] ?? '', 'never').then((reply) => ({
      ...reply,
      millis: performance.now() - began,
    }));
    let slowest = 0;
    for (let n = 0; n < 40; n += 1) {
      const from = performance.now();
      const path = `/v1/messages?conversation_id=${world.one.ids.conversation}`;
      assert.equal((await ask(serving.base, path, world.one.keys.app)).status, 200);
      slowest = Math.max(slowest, performance.now() - from);
      await sleep(100);
    }
    assert.ok(slowest < 1_000, `a page took ${slowest} ms`);
    const { status, body, headers, millis } = await pending;
    assert.equal(status, 503);
    assert.deepEqual(Object.keys(body).sort(), ['code', 'message', 'status']);
    assert.deepEqual([body.status, body.code], [503, 'service_unavailable']);
    assert.match(headers.get('retry-after') ?? '', /^\d+$/);
    assert.ok(millis > 4_500 && millis < 7_000, `after ${millis} ms`);
    held.release();
    // What was refused is not done later, and the next one is taken.
    await sleep(300);
    const stands = await ask(serving.base, world.paths[0] ?? '', world.one.keys.knowledge);
    assert.equal(stands.body.data.content, 'text 0');
    assert.equal((await patch(serving.base, world, world.paths[0] ?? '', 'taken')).status, 200);
  });

  it('commits edits that have queued up together', async (t) => {
    const world = await makeInstallation(t, 40);
    const serving = await world.start();
    const held = lock(world.file);
    t.after(async () => held.release());
    const pending = world.paths.map((path, at) => patch(serving.base, world, path, `queued ${at}`));
    await sleep(1_000);
    const before = commitsIn(`${world.file}-wal`);
    held.release();
    const replies = await Promise.all(pending);
    assert.deepEqual([...new Set(replies.map(({ status }) => status))], [200]);
    for (const [at, { body }] of replies.entries()) assert.equal(body.data.content, `queued ${at}`);
    const commits = commitsIn(`${world.file}-wal`) - before;
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
