import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import net, { type AddressInfo } from 'node:net';
import { after, before, describe, it, type TestContext } from 'node:test';
import { type PostgresAddress, parsePostgresUrl } from '../../src/database-url.ts';
import { PostgresPool } from '../../src/store/postgres/pool/pool.ts';
import { freePort } from '../support/cli-helpers.ts';
import { FaultyPostgres, onDatabase } from '../support/faulty-postgres.ts';
import { newMigratedUrl } from '../support/harness.ts';
import { describeLong } from '../support/long.ts';

/** A busy machine may need seconds for a connection. */
function openPool(t: TestContext, url: string, statementMillis = 60_000): PostgresPool {
  const address = parsePostgresUrl(url) as PostgresAddress;
  const pool = new PostgresPool({ address, connections: 4, statementMillis, prepared: true, changes: true });
  t.after(() => pool.close());
  return pool;
}

describe('an address', () => {
  let url: URL;
  let remove: () => Promise<void>;
  before(async () => {
    const database = await newMigratedUrl('postgres');
    ({ remove } = database);
    url = new URL(database.url);
  });
  after(() => remove?.());

  const open = (t: TestContext, hosts: readonly string[], options = '', statementMillis?: number) =>
    openPool(t, `${url}${options}`.replace(url.host, hosts.join()), statementMillis);
  const databaseOf = async (pool: PostgresPool) => (await pool.query('SELECT current_database() AS name'))[0]?.name;

  it('is used from the first server that accepts a connection', async (t) => {
    const pool = open(t, ['no-such-host.invalid', `127.0.0.1:${await freePort()}`, url.host]);
    assert.equal(await databaseOf(pool), url.pathname.slice(1));
  });

  it('passes over a server that does not respond, within connect_timeout', async (t) => {
    const silent = net.createServer().listen(0, '127.0.0.1');
    await once(silent, 'listening');
    t.after(() => silent.close());
    const hosts = [`127.0.0.1:${(silent.address() as AddressInfo).port}`, url.host];
    assert.equal(await databaseOf(open(t, hosts, '?connect_timeout=1')), url.pathname.slice(1));
    assert.equal(await databaseOf(open(t, hosts, '', 5_000)), url.pathname.slice(1));
  });

  it('passes options of libpq to the server', async (t) => {
    const options = '?application_name=reader&options=-c%20work_mem%3D5MB&connect_timeout=3&sslmode=disable';
    const [row] = await open(t, [url.host], options).query(
      `SELECT current_setting('application_name') AS name, current_setting('work_mem') AS memory`,
    );
    assert.deepEqual(row, { name: 'reader', memory: '5MB' });
  });
});

/** Both servers have the same database and the same user. */
describeLong('an address with several servers', () => {
  const name = `hosts_${randomUUID().replaceAll('-', '')}`;
  const password = randomUUID();
  let servers: FaultyPostgres[];
  let hosts: string[];

  before(async () => {
    servers = await Promise.all([FaultyPostgres.make(), FaultyPostgres.make()]);
    for (const server of servers) {
      await server.start();
      await onDatabase(server.url('postgres'), async (client) => {
        await client.query(`CREATE ROLE ${name} LOGIN SUPERUSER PASSWORD '${password}'`);
        await client.query(`CREATE DATABASE ${name}`);
      });
      await onDatabase(server.url(name), (client) => client.query('CREATE TABLE notes (text text)'));
    }
    hosts = servers.map(({ port }) => `127.0.0.1:${port}`);
  });
  after(async () => {
    for (const server of servers ?? []) await server.remove();
  });

  const urlOf = (list: readonly string[], options = '') =>
    `postgres://${name}:${password}@${list.join(',')}/${name}${options}`;

  const open = (t: TestContext, list: readonly string[], options = '', statementMillis?: number) =>
    openPool(t, urlOf(list, options), statementMillis);
  const portOf = async (pool: PostgresPool) =>
    (await pool.query(`SELECT current_setting('port')::int AS port`))[0]?.port;
  /** As a standby, the server accepts connections but no writes. */
  const setReadOnly = (server: FaultyPostgres | undefined, isReadOnly: boolean) =>
    onDatabase(server?.url('postgres') ?? '', (client) =>
      client.query(`ALTER DATABASE ${name} SET default_transaction_read_only = ${isReadOnly ? 'on' : 'off'}`),
    );
  const disconnectAll = (server: FaultyPostgres | undefined) =>
    onDatabase(server?.url('postgres') ?? '', (client) =>
      client.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1', [name]),
    );

  it('is tried in order', async (t) => {
    assert.equal(await portOf(open(t, hosts)), servers[0]?.port);
    assert.equal(await portOf(open(t, hosts.toReversed())), servers[1]?.port);
  });

  it('with target_session_attrs=read-write passes over a read-only server', async (t) => {
    await setReadOnly(servers[0], true);
    t.after(() => setReadOnly(servers[0], false));
    assert.equal(await portOf(open(t, hosts)), servers[0]?.port);
    assert.equal(await portOf(open(t, hosts, '?target_session_attrs=read-only')), servers[0]?.port);
    assert.equal(await portOf(open(t, hosts, '?target_session_attrs=read-write')), servers[1]?.port);
    assert.equal(await portOf(open(t, hosts, '?target_session_attrs=primary')), servers[0]?.port);
    const standby = open(t, hosts, '?target_session_attrs=standby', 5_000);
    await assert.rejects(portOf(standby), { code: 'service_unavailable' });
  });

  it('follows a promotion', async (t) => {
    await setReadOnly(servers[1], true);
    t.after(() => Promise.all(servers.map((server) => setReadOnly(server, false))));
    const pool = open(t, hosts, '?target_session_attrs=read-write');
    const write = () => pool.query('INSERT INTO notes VALUES (?) RETURNING 1', 'text');
    await Promise.all(Array.from({ length: 8 }, write));
    assert.equal(await portOf(pool), servers[0]?.port);
    // The primary restarts as a standby, and the standby is promoted.
    await setReadOnly(servers[0], true);
    await setReadOnly(servers[1], false);
    await disconnectAll(servers[0]);
    await Promise.all(Array.from({ length: 8 }, write));
    assert.equal(await portOf(pool), servers[1]?.port);
    // And back, while the connections stay open.
    await setReadOnly(servers[0], false);
    await Promise.all(Array.from({ length: 8 }, () => pool.query('SET default_transaction_read_only = on')));
    await Promise.all(Array.from({ length: 8 }, write));
    assert.equal(await portOf(pool), servers[0]?.port);
  });

  it('is used again from the first server when the others fail', async (t) => {
    const pool = open(t, hosts.toReversed());
    assert.equal(await portOf(pool), servers[1]?.port);
    await servers[1]?.end('SIGKILL');
    t.after(() => servers[1]?.start());
    assert.equal(await portOf(pool), servers[0]?.port);
  });

  it('with sslmode=prefer is used without encryption if the server has none, with sslmode=require it is not', async (t) => {
    for (const mode of ['prefer', 'allow'])
      assert.equal(await portOf(open(t, hosts, `?sslmode=${mode}`)), servers[0]?.port);
    await assert.rejects(portOf(open(t, hosts, '?sslmode=require', 5_000)), { code: 'service_unavailable' });
  });

  it('with channel_binding=require rejects a server without it', async (t) => {
    assert.equal(await portOf(open(t, hosts, '?channel_binding=prefer')), servers[0]?.port);
    const bound = portOf(open(t, hosts.slice(0, 1), '?channel_binding=require', 5_000));
    await assert.rejects(bound, (error: Error) => /channel binding/.test(String((error.cause as Error).message)));
  });
});

describe('a failed node of a distributed database', () => {
  let url: string;
  let remove: () => Promise<void>;
  before(async () => {
    ({ url, remove } = await newMigratedUrl('postgres'));
    await onDatabase(url, async (client) => {
      await client.query('CREATE SEQUENCE calls');
      await client.query(`CREATE FUNCTION fail(times int, code text, message text) RETURNS int LANGUAGE plpgsql AS
        $$ BEGIN IF nextval('calls') <= times THEN RAISE EXCEPTION USING ERRCODE = code, MESSAGE = message; END IF; RETURN 1; END $$`);
    });
  });
  after(() => remove?.());

  const failures: [code: string, message: string][] = [
    ['XX000', 'SSL SYSCALL error: EOF detected'],
    ['XX000', 'failure on connection marked as essential: 127.0.0.1:9701'],
    ['XX000', 'server closed the connection unexpectedly'],
    ['XX000', 'the postmaster was shut down'],
    ['XX000', 'terminating connection due to unexpected postmaster exit'],
    ['XX000', 'could not commit transaction for shard 102008 on at least one active node'],
    ['58030', 'failed to COPY to shard 102008'],
    ['08006', 'connection to the remote node postgres@127.0.0.1:9701 failed'],
    ['57P01', 'terminating connection due to administrator command'],
  ];
  const open = (t: TestContext) => {
    const address = parsePostgresUrl(url) as PostgresAddress;
    const pool = new PostgresPool({ address, connections: 1, statementMillis: 5_000, prepared: true, changes: true });
    t.after(() => pool.close());
    const backend = async () => (await pool.query('SELECT pg_backend_pid() AS pid'))[0]?.pid;
    const fail = async (times: number, code: string, message: string) => {
      await pool.query(`SELECT setval('calls', 1, false)`);
      return pool.query('SELECT fail(?, ?, ?)', times, code, message);
    };
    return { pool, backend, fail };
  };

  for (const [code, message] of failures)
    it(`is retried on the same connection, then 503: ${code} ${message}`, async (t) => {
      const { pool, backend, fail } = open(t);
      const pid = await backend();
      assert.deepEqual(await fail(2, code, message), [{ fail: 1 }]);
      await assert.rejects(fail(99, code, message), { code: 'service_unavailable', retryAfterSeconds: 1 });
      await assert.rejects(
        pool.transaction(async (transaction) => {
          await transaction.query('SELECT 1');
          await transaction.query('SELECT fail(99, ?, ?)', code, message);
        }),
        { code: 'service_unavailable' },
      );
      assert.equal(await backend(), pid);
    });

  const full: [code: string, message: string][] = [
    ['53100', 'could not extend file "base/16384/17365": No space left on device'],
    ['XX000', 'could not append to received file: No space left on device'],
  ];
  for (const [code, message] of full)
    it(`with a full disk gets 503 without a retry: ${code} ${message}`, async (t) => {
      const outage = { cause: 'resources', node: '' };
      await assert.rejects(open(t).fail(1, code, message), { code: 'service_unavailable', outage });
    });

  it('is not any internal error', async (t) => {
    await assert.rejects(open(t).fail(99, 'XX000', 'cache lookup failed for type 5'), { code: 'XX000' });
  });
});
