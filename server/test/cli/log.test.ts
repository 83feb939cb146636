import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { constants, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { withClients } from '../../../bench/support/load.ts';
import { limits } from '../../src/contract/limits.ts';
import { makeSecret } from '../../src/domain/secret.ts';
import { call, command, freePort, newFolder, onTerminal, sendRequest, serve } from '../support/cli-helpers.ts';
import { ndjson } from '../support/harness.ts';
import { itLong } from '../support/long.ts';
import { until } from '../support/until.ts';

/** A named pipe that is read only when the test reads it. */
function makePipe(path: string): { read: () => string } {
  execFileSync('mkfifo', [path]);
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const bytes = Buffer.alloc(1_048_576);
  const read = () => {
    try {
      return bytes.toString('utf8', 0, readSync(reader, bytes));
    } catch {
      return '';
    }
  };
  return { read };
}

describe('a log that no one reads', () => {
  // Of two workers, one is the main thread, as the only one is.
  for (const workers of [2, 1])
    itLong(`does not stop the service with ${workers} workers; dropped lines are counted and reported`, async (t) => {
      const cwd = await newFolder(t);
      const log = join(cwd, 'log');
      const pipe = makePipe(log);
      const admin = makeSecret('admin');
      const records = ndjson([{ record: 'api_key', kind: 'admin', name: 'admin', secret: admin }]);
      assert.equal((await call(['import', '-'], { cwd, stdin: records })).code, 0);
      const port = await freePort();
      const serving = await serve(t, {
        cwd,
        env: { PORT: `${port}`, LOG_LEVEL: 'info', WORKERS: `${workers}` },
        command: '/bin/sh',
        before: ['-c', `exec "$0" "$@" > ${log}`, command],
      });
      const metrics = async () => (await sendRequest(serving.base, '/metrics', admin)).text;
      // The thread of the second worker starts a moment later.
      const servingWorkers = async () =>
        (await metrics()).match(/^backscroll_worker_requests_total\{.*\} [1-9]/gm)?.length;
      const live = 'GET /health/live HTTP/1.1\r\nHost: test\r\n\r\n';
      await until(async () => {
        await withClients(port, 1, ([client]) => client?.request(live) ?? assert.fail());
        return (await servingWorkers()) === workers;
      });
      const lineBytesMin = 250;
      const requests = Math.ceil((limits.logBufferBytesMax + 500_000) / lineBytesMin);
      let left = requests;
      const request = `GET /v1/nothing HTTP/1.1\r\nHost: test\r\nX-Request-Id: ${'r'.repeat(128)}\r\n\r\n`;
      await withClients(port, 10, (clients) =>
        Promise.all(
          clients.map(async (client) => {
            while ((left -= 1) >= 0) assert.equal((await client.request(request)).status, 404);
          }),
        ),
      );
      const droppedLines = async () => {
        const text = await metrics();
        return Number(/^backscroll_log_lines_dropped_total (\d+)$/m.exec(text)?.[1]);
      };
      await until(async () => (await droppedLines()) > 0);
      let text = '';
      const lines = () => text.slice(0, text.lastIndexOf('\n')).split('\n');
      const reports = () => lines().filter((line) => line.includes('log lines were dropped'));
      await until(() => {
        text += pipe.read();
        return reports().length > 0;
      });
      const reported = reports().reduce((sum, line) => sum + JSON.parse(line).dropped, 0);
      assert.equal(reported, await droppedLines());
      assert.equal((await sendRequest(serving.base, '/v1/last', admin)).status, 404);
      const ended = serving.end('SIGTERM');
      await until(() => {
        text += pipe.read();
        return /"stopped"\}\n$/.test(text);
      });
      await ended;
      const parsed = lines().map((line) => JSON.parse(line));
      const logged = parsed.filter(({ req_id }) => req_id === 'r'.repeat(128));
      // Lines of other requests may be among the dropped ones.
      assert.ok(logged.length < requests && logged.length + reported >= requests, `${logged.length} and ${reported}`);
      assert.equal(parsed.filter(({ req_id }) => req_id !== 'r'.repeat(128)).at(-1)?.msg, 'stopped');
    });
});

describe('the format of the log', () => {
  it('is text with LOG_FORMAT=text: one line for a request, with its error', async (t) => {
    const serving = await serve(t, { cwd: await newFolder(t), env: { LOG_FORMAT: 'text' } });
    const headers = { authorization: 'Bearer none', 'x-request-id': 'id-of-the-request' };
    await fetch(`${serving.base}/v1/messages?conversation_id=1`, { headers });
    await serving.end('SIGTERM');
    const [created, opened, ...others] = serving.output().trimEnd().split('\n');
    assert.match(created ?? '', /^\d\d:\d\d:\d\d created a new database at \/.+\/data\/backscroll\.db version=\d+$/);
    assert.match(opened ?? '', /^\d\d:\d\d:\d\d opened database=data\/backscroll\.db$/);
    const request = /^\d\d:\d\d:\d\d GET \/v1\/messages 401 \d+(\.\d)? ms unauthorized: \S.+ id-of-the-request$/;
    assert.equal(others.filter((line) => request.test(line)).length, 1, others.join('\n'));
    assert.ok(others.some((line) => /^[\d:]{8} GET \/health\/ready 200 \d+(\.\d)? ms \S+$/.test(line)));
    assert.match(others.at(-1) ?? '', /^[\d:]{8} stopped$/);
  });

  itLong(
    'is text on a terminal, where the greeting of the first start comes after it and ends with the keys',
    async (t) => {
      const cwd = await newFolder(t);
      const options = { cwd, env: { WORKERS: '2' }, args: ['--starter'] };
      const serving = await serve(t, { ...options, ...(await onTerminal(cwd)) });
      await until(() => /^ {2}admin {6}admin-.+$/m.test(serving.output()), serving.output);
      const [log = '', greeting = ''] = serving.output().split(/^(?=Backscroll is running)/m);
      assert.equal(log.match(/^[\d:]{8} listening at http/gm)?.length, 1, log);
      assert.match(greeting, /^http.+\/console#sign-in=\S+$/m);
      assert.match(greeting, /^ {2}feed {7}feed-\S+\n {2}admin {6}admin-\S+\n\n(?![\s\S]*\b(?:curl|app-))/m);
      for (const line of log.trim().split('\n')) assert.match(line, /^\d\d:\d\d:\d\d \S/);
    },
  );

  itLong('is JSON on a terminal with LOG_FORMAT=json; a database that exists is not created', async (t) => {
    const cwd = await newFolder(t);
    assert.equal((await call(['migrate'], { cwd })).code, 0);
    const serving = await serve(t, { cwd, env: { LOG_FORMAT: 'json' }, ...(await onTerminal(cwd)) });
    const [line = ''] = serving.output().split('\n');
    assert.equal(JSON.parse(line).msg, 'opened');
  });
});
