import { statfsSync } from 'node:fs';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BrowserServer } from 'playwright-core';
import { citusUrl, createTemplate } from '../citus/cluster.ts';
import { startBrowser } from './browser.ts';
import { isLong } from './long.ts';
import { createTemplates, type PostgresServer, startPostgres } from './postgres-server.ts';

/** The folder for temporary files of all test files: nothing is left behind, also by tests that were killed. */
let folder: string | undefined;
/**
 * The folder for databases of PostgreSQL, in memory if possible. Each of them consists of hundreds of files, which take
 * several times the processor time to create on a disk. The experiments of `npm run test:all` may need more than memory has.
 */
let postgresFolder: string | undefined;
const memoryFolder = '/dev/shm';
const memoryBytesMin = 4 * 2 ** 30;
/** One browser for all test files, unless TEST_BROWSER_URL names one; each connection to it has its own contexts. */
let browser: BrowserServer | undefined;
/** One PostgreSQL for all test files, unless TEST_DATABASE_URL names one (without a database in its path). */
let postgres: PostgresServer | undefined;
let templates: { remove: () => Promise<void> } | undefined;

export async function globalSetup(): Promise<void> {
  if (!process.env.TEST_BROWSER_URL) {
    browser = await startBrowser();
    process.env.TEST_BROWSER_URL = browser.wsEndpoint();
  }
  folder = await mkdtemp(join(tmpdir(), 'backscroll-tests-'));
  // As root, PostgreSQL and some services run as another user, who must get in.
  await chmod(folder, 0o755);
  process.env.TMPDIR = folder;
  if (!isLong && hasMemory()) {
    postgresFolder = await mkdtemp(join(memoryFolder, 'backscroll-tests-'));
    await chmod(postgresFolder, 0o755);
    process.env.TEST_POSTGRES_FOLDER = postgresFolder;
  }
  // Compiled code, shared by all processes: without it, each start takes about twice as long.
  process.env.NODE_COMPILE_CACHE = join(folder, 'compile-cache');
  if (citusUrl !== undefined) return createTemplate();
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
  for (const path of [folder, postgresFolder])
    if (path) await rm(path, { recursive: true, force: true, maxRetries: 5 });
}

/** Whether files in memory can take several times what the tests need. */
function hasMemory(): boolean {
  try {
    const { bavail, bsize } = statfsSync(memoryFolder);
    return Math.min(bavail * bsize, process.availableMemory()) >= memoryBytesMin;
  } catch {
    return false;
  }
}
