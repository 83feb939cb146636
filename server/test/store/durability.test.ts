import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { killService } from '../../../experiments/crash.ts';
import { fileOf, type Installation, install } from '../../../experiments/support/installation.ts';
import { newScope, type Scope, type ServerProcess, sendRequest } from '../support/cli-helpers.ts';
import { message, ndjson } from '../support/harness.ts';
import { itLong } from '../support/long.ts';
import { until } from '../support/until.ts';

const patch = (base: string, installation: Installation, at: number, content: string) =>
  sendRequest(base, installation.chunks[at]?.path ?? '', installation.one.keys.knowledge, {
    method: 'PATCH',
    json: { content },
  });

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

describe('durability', () => {
  itLong('loses no acknowledged write and stores no partial import over some kills', async (t) => {
    const findings = await killService({ kills: 20, databases: 1, checkEvery: 5 });
    for (const { promise, measured } of findings) t.diagnostic(`${promise}: ${measured}`);
    assert.ok(findings.length >= 6);
    assert.deepEqual(
      findings.filter(({ holds }) => !holds),
      [],
    );
  });
});

describe('a service', () => {
  const scope = newScope();
  let installation: Installation;
  let serving: ServerProcess;
  before(async () => {
    installation = await install(scope, { chunks: 20 });
    serving = await installation.start();
  });
  after(scope.end);

  it('loses no acknowledged edit after kill -9, and stores an import as a whole or not at all', async () => {
    const killed = serving;
    const { one, admin, chunks } = installation;
    const added = Array.from({ length: 2_000 }, (_, at) => message(one.ids.conversation, 10_000 + at));
    const importing = sendRequest(killed.base, '/admin/records', admin, { method: 'POST', lines: ndjson(added) }).then(
      ({ status }) => status,
      () => undefined,
    );
    for (const at of chunks.keys())
      await until(async () => (await patch(killed.base, installation, at, `acknowledged ${at}`)).status === 200);
    await killed.end('SIGKILL');
    serving = await installation.start();
    const { text } = await sendRequest(serving.base, '/admin/records', admin);
    for (const at of chunks.keys()) assert.ok(text.includes(`"acknowledged ${at}"`), `edit ${at}`);
    const stored = added.filter(({ id }) => text.includes(id)).length;
    if ((await importing) === 200) assert.equal(stored, added.length);
    else assert.ok(stored === 0 || stored === added.length, `${stored} of ${added.length}`);
  });

  it('returns 503 for an edit while another process holds the write lock for 5 seconds, and serves reads meanwhile', async (t) => {
    const writeLock = lock(fileOf(installation));
    t.after(async () => writeLock.release());
    let hasResponse = false;
    const pending = patch(serving.base, installation, 0, 'never').finally(() => {
      hasResponse = true;
    });
    let pages = 0;
    await until(async () => {
      const path = `/v1/messages?conversation_id=${installation.one.ids.conversation}`;
      assert.equal((await sendRequest(serving.base, path, installation.one.keys.app)).status, 200);
      pages += 1;
      await sleep(100);
      return hasResponse;
    });
    assert.ok(pages > 1, `${pages} pages`);
    const { status, body, headers } = await pending;
    assert.equal(status, 503);
    assert.deepEqual(Object.keys(body).sort(), ['code', 'message', 'status']);
    assert.deepEqual([body.status, body.code], [503, 'service_unavailable']);
    assert.match(headers.get('retry-after') ?? '', /^\d+$/);
    writeLock.release();
    // The rejected edit is not applied later, and the next one is accepted.
    assert.equal((await patch(serving.base, installation, 0, 'accepted')).status, 200);
    const { text } = await sendRequest(serving.base, '/admin/records', installation.admin);
    assert.ok(text.includes('"accepted"') && !text.includes('"never"'));
  });

  it('makes edits wait while another process holds the lock, and commits them together', async (t) => {
    // While a transaction reads, the log does not start again, so that all commits stay in it.
    const reader = new DatabaseSync(fileOf(installation), { readOnly: true });
    t.after(async () => reader.close());
    reader.exec('BEGIN');
    reader.prepare('SELECT COUNT(*) FROM child_chunks').get();
    // On a busy machine an edit may arrive after the lock is released, or wait for it too long: then once more.
    await until(async () => {
      assert.equal(await othersInFlight(serving.base, installation), 0, 'requests that have ended do not count');
      const before = commitsIn(`${fileOf(installation)}-wal`);
      const isDone = await editAllAtOnce(t, serving.base, installation);
      const commits = commitsIn(`${fileOf(installation)}-wal`) - before;
      t.diagnostic(`${commits} commits for ${installation.chunks.length} edits`);
      return isDone && commits >= 1 && commits <= installation.chunks.length / 2;
    });
  });
});

/** Sends one edit per chunk while the database is locked, and releases it when all wait. False if one was rejected. */
async function editAllAtOnce(t: Scope, base: string, installation: Installation): Promise<boolean> {
  const writeLock = lock(fileOf(installation));
  t.after(async () => writeLock.release());
  let hasResponse = false;
  const pending = installation.chunks.map((_, at) =>
    patch(base, installation, at, `queued ${at}`).finally(() => {
      hasResponse = true;
    }),
  );
  await until(async () => hasResponse || (await othersInFlight(base, installation)) >= pending.length);
  writeLock.release();
  const replies = await Promise.all(pending);
  if (replies.some(({ status }) => status === 503)) return false;
  for (const [at, { status, body }] of replies.entries())
    assert.deepEqual([status, body.data.content], [200, `queued ${at}`]);
  return true;
}

/** Requests in flight, without the one that reads this. */
async function othersInFlight(base: string, { admin }: Installation): Promise<number> {
  const { text } = await sendRequest(base, '/metrics', admin);
  return Number(/^backscroll_http_requests_in_flight (\d+)$/m.exec(text)?.[1]) - 1;
}

/** Counts the commits in a write-ahead log: frames of its current generation with a database size (https://sqlite.org/fileformat2.html#walformat). */
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
