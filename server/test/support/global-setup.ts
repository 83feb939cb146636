import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BrowserServer } from 'playwright-core';
import { startBrowser } from './browser.ts';
import { type PostgresServer, startPostgres } from './postgres-server.ts';

/** One PostgreSQL for all test files, unless TEST_DATABASE_URL names one (without a database in its path). */
let postgres: PostgresServer | undefined;
/** One browser for all test files; each connection to it has its own contexts. */
let browser: BrowserServer | undefined;
/** Compiled code, shared by the processes of all test files: without it, each start takes about twice as long. */
let compileCache: string | undefined;

export async function globalSetup(): Promise<void> {
  compileCache = await mkdtemp(join(tmpdir(), 'backscroll-cache-'));
  process.env.NODE_COMPILE_CACHE = compileCache;
  browser = await startBrowser();
  process.env.TEST_BROWSER_URL = browser.wsEndpoint();
  if (process.env.TEST_DATABASE_URL) return;
  postgres = await startPostgres();
  process.env.TEST_DATABASE_URL = postgres.url;
}

export async function globalTeardown(): Promise<void> {
  await browser?.close();
  await postgres?.stop();
  if (compileCache) await rm(compileCache, { recursive: true, force: true, maxRetries: 5 });
}
