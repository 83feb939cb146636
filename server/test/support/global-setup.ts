import type { BrowserServer } from 'playwright-core';
import { startBrowser } from './browser.ts';
import { type PostgresServer, startPostgres } from './postgres-server.ts';

/** One PostgreSQL for all test files, unless TEST_DATABASE_URL names one (without a database in its path). */
let postgres: PostgresServer | undefined;
/** One browser for all test files; each connection to it has its own contexts. */
let browser: BrowserServer | undefined;

export async function globalSetup(): Promise<void> {
  browser = await startBrowser();
  process.env.TEST_BROWSER_URL = browser.wsEndpoint();
  if (process.env.TEST_DATABASE_URL) return;
  postgres = await startPostgres();
  process.env.TEST_DATABASE_URL = postgres.url;
}

export async function globalTeardown(): Promise<void> {
  await browser?.close();
  await postgres?.stop();
}
