import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, it } from 'node:test';
import { newFolder, newScope, repository } from './support/cli-helpers.ts';

const scope = newScope();
after(scope.end);

it('npm test exits with 1 when a test fails', async () => {
  const cwd = join(repository, 'server');
  const file = join(await newFolder(scope), 'fails.test.js');
  await writeFile(file, `require('node:test').it('fails', () => { throw new Error('the expected failure'); });\n`);
  const { scripts } = JSON.parse(await readFile(join(cwd, 'package.json'), 'utf8'));
  const command = scripts.test.replace("'test/**/*.test.ts'", file);
  assert.notEqual(command, scripts.test);
  // The variables of the running tests would make it one of their test files, on their PostgreSQL and browser.
  const { NODE_TEST_CONTEXT: _, TEST_DATABASE_URL: __, TEST_BROWSER_URL: ___, ...rest } = process.env;
  const env = { ...rest, PATH: [join(repository, 'node_modules', '.bin'), rest.PATH].join(delimiter) };
  const child = spawn('sh', ['-c', command], { cwd, env, stdio: ['ignore', 'pipe', 'inherit'] });
  const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')]);
  assert.match(output, /the expected failure/);
  assert.match(output, /fail 1/);
  assert.equal(code, 1);
});
