import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, describe, it } from 'node:test';
import { newFolder, newScope, repository } from './support/cli-helpers.ts';
import { isLong, itLong } from './support/long.ts';

describe('npm test exits with 1', () => {
  const scope = newScope();
  after(scope.end);

  /** Runs one test file as `npm test` does. The variables of this run would make it one of its test files. */
  async function runFile(source: string, { NODE_TEST_CONTEXT: _, TEST_LONG: __, ...env }: NodeJS.ProcessEnv) {
    const file = join(await newFolder(scope), 'one.test.js');
    await writeFile(file, source);
    const script = join(repository, 'server', 'scripts', 'test.ts');
    const child = spawn(process.execPath, [script, file], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
    return { stdout, stderr, code };
  }

  it('when a test fails', async () => {
    const source = `require('node:test').it('fails', () => { throw new Error('the expected failure'); });\n`;
    const { TEST_DATABASE_URL: _, TEST_TEMPLATE: __, ...withoutServer } = process.env;
    // In `npm run test:all` with its own PostgreSQL, whose package sets the exit code when the process ends.
    const { stdout, code } = await runFile(source, isLong ? withoutServer : process.env);
    assert.match(stdout, /the expected failure/);
    assert.match(stdout, /fail 1/);
    assert.match(stdout, /slowest files.*\n.* s {2}\S*one\.test\.js/);
    assert.equal(code, 1);
  });

  it('when a failed test leaves a process, which it kills', async () => {
    const source = `
      require('node:test').it('fails', () => {
        const { pid } = require('node:child_process').spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)']);
        throw new Error('process ' + pid + ' is left');
      });`;
    const { stdout, code } = await runFile(source, process.env);
    const pid = Number(/process (\d+) is left/.exec(stdout)?.[1]);
    assert.throws(() => process.kill(pid, 0), { code: 'ESRCH' });
    assert.equal(code, 1);
  });

  itLong('when a test leaves a server', async () => {
    const source = `require('node:test').it('passes', () => void require('node:net').createServer().listen(0));`;
    const { stdout, stderr, code } = await runFile(source, process.env);
    assert.match(stdout + stderr, /left after the tests: .*TCPServerWrap/);
    assert.equal(code, 1);
  });

  itLong('when a file cannot be loaded', async () => {
    const { stdout, code } = await runFile(`throw new Error('the expected failure');\n`, process.env);
    assert.match(stdout, /the expected failure/);
    assert.equal(code, 1);
  });

  itLong('when nothing awaits an error', async () => {
    const source = `
      require('node:test').it('passes', () => {
        setTimeout(() => { throw new Error('the expected failure'); });
        return new Promise((resolve) => setTimeout(resolve, 100));
      });`;
    const { stdout, code } = await runFile(source, process.env);
    assert.match(stdout, /the expected failure/);
    assert.equal(code, 1);
  });

  itLong('when a file takes too much processor time', async () => {
    const source = `
      require('node:test').it('passes', () => {});
      const line = JSON.stringify({ name: 'slow.test.ts', wall: 1, processor: 1000 });
      require('node:fs').appendFileSync(process.env.TEST_TIMES, line + '\\n');`;
    const { stdout, stderr, code } = await runFile(source, process.env);
    assert.match(stdout, /fail 0/);
    assert.match(stderr, /slow\.test\.ts takes 1000\.0 s of processor time; its budget is \d+ s/);
    assert.equal(code, 1);
  });
});
