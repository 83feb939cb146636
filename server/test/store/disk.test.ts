import assert from 'node:assert/strict';
import { readFile, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { diskWithFileLimit, fillDisk, findingsOf, serveReadOnly, smallDisk } from '../experiments/disk.ts';
import { Client } from '../experiments/support/disk-client.ts';
import type { Finding } from '../experiments/support/experiment.ts';
import {
  command,
  freePort,
  newFolder,
  newScope,
  run,
  sendRequest,
  serve,
  withFileSizeLimit,
} from '../support/cli-helpers.ts';
import { makeTwoTenants, ndjson } from '../support/harness.ts';
import { itLong, shortOrLong } from '../support/long.ts';

function assertHolds(findings: readonly Finding[]): void {
  assert.deepEqual(
    findings.filter(({ holds }) => !holds),
    [],
  );
}

describe('disk failures', { concurrency: 2 }, () => {
  it('rejects writes with 503 and serves reads while the disk is full, and recovers by itself', async (t) => {
    // The database itself must fit: it grows with each of the cycles.
    const disk = await diskWithFileLimit(t, withFileSizeLimit(shortOrLong(6_000, 20_000)));
    assertHolds(
      findingsOf('a full disk', await fillDisk(disk, t, { cycles: shortOrLong(1, 5), requests: shortOrLong(20, 300) })),
    );
  });

  itLong(
    'rejects writes while too little is free to copy the log into the database, and recovers once enough is',
    async (t) => {
      // A test runs its hooks in the order in which they were added, but a disk in use cannot be removed.
      const scope = newScope();
      try {
        const disk = await smallDisk(scope, 32);
        if (disk === undefined) return t.diagnostic('not tested: mounting a disk is not permitted here');
        const world = makeTwoTenants();
        assert.equal((await run(['import', '-'], { ...disk.options, stdin: ndjson(world.records) })).code, 0);
        const client = new Client(await serve(scope, disk.options), world);
        // Together less than the size at which SQLite copies the log by itself.
        for (let at = 0; at < 40; at += 1) assert.equal(await client.write(), 200);
        disk.fill(0);
        await client.writeUntilRejected();
        // Each time the database file grows by this much. It needs the space of 40 texts of 20,000 bytes.
        for (let times = 0; times < 3; times += 1) {
          disk.freeSome(131_072);
          for (let at = 0; at < 5; at += 1) assert.equal(await client.write(), 503);
        }
        disk.free();
        assert.ok(Number.isFinite(await client.millisUntilAccepted()));
        assert.equal(await client.countLost(), 0);
      } finally {
        await scope.end();
      }
    },
  );

  itLong(
    'rejects writes with 503 and serves reads while the database is read-only, and recovers by itself',
    async () => {
      assertHolds(await serveReadOnly({ starts: 3, requests: 300 }));
    },
  );

  itLong('keeps running while the log cannot be written, and logs again as soon as it can', async (t) => {
    const cwd = await newFolder(t);
    const log = join(cwd, 'log');
    // The file has reached its size limit: the first line does not fit.
    await writeFile(log, 'x'.repeat(4_096_000));
    const port = await freePort();
    const shell = ['-c', `ulimit -S -f 8000; exec "$0" "$@" >> ${log}`, command];
    const serving = await serve(t, { cwd, env: { PORT: `${port}` }, command: '/bin/sh', before: shell });
    for (let at = 0; at < 20; at += 1)
      assert.equal((await sendRequest(serving.base, '/v1/nothing', 'none')).status, 404);
    assert.equal(serving.output(), '');
    await truncate(log);
    assert.equal((await sendRequest(serving.base, '/v1/nothing', 'none')).status, 404);
    await serving.end('SIGTERM');
    const lines = (await readFile(log, 'utf8')).trimEnd().split('\n');
    for (const line of lines) assert.ok(JSON.parse(line).level, line);
    assert.match(JSON.parse(lines[0] ?? '').msg, /^created a new database at /);
    assert.equal(JSON.parse(lines.at(-1) ?? '').msg, 'stopped');
  });
});
