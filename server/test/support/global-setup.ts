import chromiumFiles from '@sparticuz/chromium';
import { type PostgresServer, startPostgres } from './postgres-server.ts';

/** One PostgreSQL server for the whole run, unless TEST_DATABASE_URL names one (without a database in its path). */
let server: PostgresServer | undefined;

export async function globalSetup(): Promise<void> {
  // Unpacked once, before several test files need it at the same time.
  await chromiumFiles.executablePath();
  if (process.env.TEST_DATABASE_URL) return;
  server = await startPostgres();
  process.env.TEST_DATABASE_URL = server.url;
}

export async function globalTeardown(): Promise<void> {
  await server?.stop();
}
