import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, it } from 'node:test';
import { newFolder, newScope, repository } from './support/cli-helpers.ts';

const scope = newScope();
after(scope.end);

it('a run of tests fails where one of them does', async () => {
  const file = join(await newFolder(scope), 'fails.test.js');
  await writeFile(file, `require('node:test').it('fails', () => { throw new Error('as it should'); });\n`);
  // As if it were no test itself, and with a PostgreSQL of its own, as a whole run has.
  const { NODE_TEST_CONTEXT: _, TEST_DATABASE_URL: __, ...env } = process.env;
  const args = ['--test', '--test-global-setup=test/global-setup.ts', file];
  const child = spawn(process.execPath, args, { cwd: join(repository, 'server'), env, stdio: 'ignore' });
  const [code] = await once(child, 'exit');
  assert.equal(code, 1);
});
