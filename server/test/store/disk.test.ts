import assert from 'node:assert/strict';
import { readFile, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { boundedFiles, fillUp, findingsOf, readOnly } from '../../torture/disk.ts';
import type { Finding } from '../../torture/support/experiment.ts';
import { command, freePort, newFolder, sendRequest, serve, withFileSizeLimit } from '../support/cli-helpers.ts';
import { shortOrLong } from '../support/harness.ts';

function assertHolds(findings: readonly Finding[]): void {
  assert.deepEqual(
    findings.filter(({ holds }) => !holds),
    [],
  );
}

describe('a disk in trouble', { concurrency: 2 }, () => {
  it('503 for writes while it takes no more; reads go on; it heals by itself', async (t) => {
    const bounded = await boundedFiles(t, withFileSizeLimit(6_000));
    assertHolds(
      findingsOf('a full disk', await fillUp(bounded, t, { cycles: shortOrLong(2, 5), asks: shortOrLong(20, 300) })),
    );
  });

  it('503 for writes while the database is read-only; reads go on; it heals by itself', async () => {
    assertHolds(await readOnly({ starts: shortOrLong(2, 3), asks: shortOrLong(20, 300) }));
  });

  it('a log that cannot be written does not end the service, and goes on when it can', async (t) => {
    const cwd = await newFolder(t);
    const log = join(cwd, 'log');
    // As much as a file may hold here: the first line does not fit.
    await writeFile(log, 'x'.repeat(1_024_000));
    const port = await freePort();
    const shell = ['-c', `ulimit -S -f 2000; exec "$0" "$@" >> ${log}`, command];
    const serving = await serve(t, { cwd, env: { PORT: `${port}` }, command: '/bin/sh', before: shell });
    for (let at = 0; at < 20; at += 1)
      assert.equal((await sendRequest(serving.base, '/v1/nothing', 'none')).status, 404);
    assert.equal(serving.output(), '');
    await truncate(log);
    assert.equal((await sendRequest(serving.base, '/v1/nothing', 'none')).status, 404);
    await serving.end('SIGTERM');
    const lines = (await readFile(log, 'utf8')).trimEnd().split('\n');
    for (const line of lines) assert.ok(JSON.parse(line).level, line);
    assert.deepEqual([JSON.parse(lines[0] ?? '').msg, JSON.parse(lines.at(-1) ?? '').msg], ['migrated', 'stopped']);
  });
});
