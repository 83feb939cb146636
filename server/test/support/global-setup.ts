import { readFileSync, statfsSync } from 'node:fs';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BrowserServer } from 'playwright-core';
import { citusUrl, createTemplate } from '../citus/cluster.ts';
import { newScope, serve } from './cli-helpers.ts';
import { isLong } from './long.ts';
import { createTemplates, type PostgresServer, startPostgres } from './postgres-server.ts';
import { until } from './until.ts';

/**
 * The folder for temporary files of all test files: nothing is left behind, also by tests that were killed. It is in memory
 * if possible: there, SQLite does not wait for a disk at each commit, and the hundreds of files of a PostgreSQL database take
 * a fraction of the processor time. The experiments of `npm run test:all` may need more than memory has.
 */
let folder: string | undefined;
const memoryFolder = '/dev/shm';
const memoryBytesMin = 4 * 2 ** 30;
/** One browser for all test files, unless TEST_BROWSER_URL names one; each connection to it has its own contexts. */
let browser: BrowserServer | undefined;
/** One PostgreSQL for all test files, unless TEST_DATABASE_URL names one (without a database in its path). */
let postgres: PostgresServer | undefined;
let templates: { remove: () => Promise<void> } | undefined;

export async function globalSetup(): Promise<void> {
  if (!process.env.TEST_BROWSER_URL) {
    const { startBrowser } = await import('./browser.ts');
    browser = await startBrowser();
    process.env.TEST_BROWSER_URL = browser.wsEndpoint();
  }
  folder = await mkdtemp(join(!isLong && hasMemory() ? memoryFolder : tmpdir(), 'backscroll-tests-'));
  // As root, PostgreSQL and some services run as another user, who must get in.
  await chmod(folder, 0o755);
  process.env.TMPDIR = folder;
  const compiled = process.env.NODE_COMPILE_CACHE ? undefined : compileProgram(folder);
  if (citusUrl !== undefined) await createTemplate();
  else await preparePostgres();
  await compiled;
}

async function preparePostgres(): Promise<void> {
  if (!process.env.TEST_DATABASE_URL) {
    postgres = await startPostgres();
    process.env.TEST_DATABASE_URL = postgres.url;
  }
  if (!process.env.TEST_TEMPLATE) templates = await createTemplates();
}

export async function globalTeardown(): Promise<void> {
  await browser?.close();
  await templates?.remove();
  await postgres?.stop();
  if (folder) await rm(folder, { recursive: true, force: true, maxRetries: 5 });
}

/**
 * Fills the cache of compiled code that all processes and threads share: without it, a start takes about twice as long. A process
 * adds what it has compiled when it ends, and most tests begin before one has ended.
 */
async function compileProgram(folder: string): Promise<void> {
  const NODE_COMPILE_CACHE = join(folder, 'compile-cache');
  process.env.NODE_COMPILE_CACHE = NODE_COMPILE_CACHE;
  const scope = newScope();
  try {
    const env = { NODE_COMPILE_CACHE, DATABASE_URL: `sqlite:${join(folder, 'first.db')}` };
    const serving = await serve(scope, { cwd: folder, args: ['--starter'], env });
    // Before the welcome text, a signal would end it at once.
    await until(() => serving.output().includes('curl'), serving.output);
    await serving.end('SIGTERM');
  } finally {
    await scope.end();
  }
}

/** Whether files in memory can take several times what the tests need, and commands among them can be run. */
function hasMemory(): boolean {
  try {
    const { bavail, bsize } = statfsSync(memoryFolder);
    if (Math.min(bavail * bsize, process.availableMemory()) < memoryBytesMin) return false;
    const mounts = readFileSync('/proc/mounts', 'utf8').split('\n');
    return !mounts.some((line) => line.includes(` ${memoryFolder} `) && line.includes('noexec'));
  } catch {
    return false;
  }
}
