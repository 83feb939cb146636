import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BrowserServer } from 'playwright-core';
import { citusUrl, createTemplate } from '../citus/cluster.ts';
import { startBrowser } from './browser.ts';
import { createTemplates, type PostgresServer, startPostgres } from './postgres-server.ts';

/** The folder for temporary files of all test files: nothing is left behind, also by tests that were killed. */
let folder: string | undefined;
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
  if (folder) await rm(folder, { recursive: true, force: true, maxRetries: 5 });
}
