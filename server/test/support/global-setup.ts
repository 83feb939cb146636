import chromiumFiles from '@sparticuz/chromium';
import { type PostgresServer, startPostgres } from './postgres-server.ts';

/** One PostgreSQL for the whole run, unless TEST_DATABASE_URL names one (without a database in its path). */
let started: PostgresServer | undefined;

export async function globalSetup(): Promise<void> {
  // Unpacked once, before several test files ask for it at the same time.
  await chromiumFiles.executablePath();
  if (process.env.TEST_DATABASE_URL) return;
  started = await startPostgres();
  process.env.TEST_DATABASE_URL = started.url;
}

export async function globalTeardown(): Promise<void> {
  await started?.stop();
}
