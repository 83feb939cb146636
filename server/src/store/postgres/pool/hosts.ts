import pg from 'pg';
import type { PostgresAddress } from '../../../database-url.ts';
import { asError } from '../../../domain/errors.ts';
import { drivenOf } from './driven.ts';
import { readRowBytes } from './row-bytes.ts';

/** A connection, with the server that it was opened to. */
export type HostClient = pg.PoolClient & { server: number; generation: number };

type Callback = (error: Error | null) => void;

/**
 * The servers of an address, tried in order. New connections use the first server that accepted one until it fails, and then
 * the next. After a failover, connections from before it are not used again.
 */
export class Hosts {
  readonly address: PostgresAddress;
  #current = 0;
  #generation = 0;

  constructor(address: PostgresAddress) {
    this.address = address;
  }

  get count(): number {
    return this.address.urls.length;
  }

  isOutdated({ generation }: HostClient): boolean {
    return generation !== this.#generation;
  }

  /** The server of this connection has become read-only: another one may be the primary now. */
  leave(client: HostClient): void {
    if (this.isOutdated(client)) return;
    this.#generation += 1;
    this.#skip(client.server);
  }

  #skip(server: number): void {
    if (server === this.#current) this.#current = (server + 1) % this.count;
  }

  /** Whether another attempt to connect may succeed: a server that does not encrypt is tried without encryption. */
  mayConnectElsewhere(error: unknown, isRetryable: boolean): boolean {
    return isRetryable || (this.count > 1 && /does not support SSL/.test(asError(error).message));
  }

  /** A class of clients for the pool, each of which connects to the current server. All servers share the time limit. */
  clientClass(connectMillis: number): NonNullable<pg.PoolConfig['Client']> {
    const hosts = this;
    const { urls, channelBinding, connectSeconds } = this.address;
    const connectionTimeoutMillis =
      connectSeconds === undefined ? Math.ceil(connectMillis / this.count) : connectSeconds * 1000;
    return class extends pg.Client {
      readonly server = hosts.#current;
      readonly generation = hosts.#generation;

      constructor(config?: pg.ClientConfig) {
        super({ ...config, connectionTimeoutMillis, connectionString: urls[hosts.#current] } as pg.ClientConfig);
        readRowBytes(this);
        if (channelBinding === 'require') requireChannelBinding(this);
        const connect = super.connect.bind(this) as (callback: Callback) => void;
        const connectOrSkip = (callback: Callback) =>
          connect((error) => {
            if (error) hosts.#skip(this.server);
            callback(error);
          });
        this.connect = connectOrSkip as typeof this.connect;
      }
    } as unknown as NonNullable<pg.PoolConfig['Client']>;
  }

  /** Throws if a new connection is not to a server of the required kind, or is not protected as required. */
  async check(client: HostClient): Promise<void> {
    const { target } = this.address;
    if (target === 'any') return;
    const { rows } = await client.query(
      `SELECT pg_is_in_recovery() AS standby, current_setting('transaction_read_only') = 'on' AS readonly`,
    );
    const { standby, readonly } = rows[0];
    const fits = { 'read-write': !readonly, 'read-only': readonly, primary: !standby, standby }[target];
    if (fits) return;
    this.#skip(client.server);
    throw Object.assign(new Error(`the server is not ${target}`), { code: '25006' });
  }
}

/** The driver would continue without channel binding if the server does not offer it. */
function requireChannelBinding(client: pg.Client): void {
  const { connection } = drivenOf(client);
  const fail = () => connection.stream.destroy(new Error('the server does not offer channel binding'));
  let isBound = false;
  connection.once('authenticationSASL', ({ mechanisms }: { mechanisms: string[] }) => {
    isBound = mechanisms.includes('SCRAM-SHA-256-PLUS');
    if (!isBound) fail();
  });
  for (const event of ['authenticationCleartextPassword', 'authenticationMD5Password']) connection.once(event, fail);
  connection.once('authenticationOk', () => isBound || fail());
}
