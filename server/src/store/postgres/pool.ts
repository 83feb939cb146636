import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { PostgresAddress } from '../../database-url.ts';
import { ServiceError, unavailable } from '../../domain/errors.ts';
import type { Row, Value } from '../engine.ts';
import { type HostClient, Hosts } from './hosts.ts';

export type PoolOptions = {
  address: PostgresAddress;
  connections: number;
  /** The time limit of every statement, and of waiting for a connection. */
  statementMillis: number;
  /** Named prepared statements; off behind a pooler that assigns connections per transaction. */
  prepared: boolean;
  /** Whether writes are noted for the change feed. */
  changes: boolean;
};

export interface Transaction {
  /** Whether its writes are noted for the change feed. */
  readonly notesChanges: boolean;
  query(sql: string, ...values: Value[]): Promise<Row[]>;
}

const attemptsMax = 5;
const pauseMillis = 50;
const closeMillis = 1_000;
/** CancelRequest: https://www.postgresql.org/docs/current/protocol-message-formats.html */
const cancelRequestCode = 80_877_102;
/** Requests per connection that may wait for one. Further requests are rejected. */
const waitersPerConnection = 50;

/**
 * A statement with a longer list is not prepared by name, so that it is planned for its values and the current size of its
 * tables. A plan that the connection cached while the tables were small would compare each row with the whole list.
 */
const preparedListMax = 20;
const isLongList = (value: Value): boolean => Array.isArray(value) && value.length > preparedListMax;

/** Serialization failure, deadlock, unique violation: a retry sees what the other transaction wrote. */
const conflicts = ['40001', '40P01', '23505'];
/** The server has become a standby, in a failover. */
const readOnly = '25006';
/** Read-only during a failover, shutting down, starting up. */
const transient = [readOnly, '57P01', '57P02', '57P03'];
/** The statement took too long or waited too long for a lock. */
const timeouts = ['57014', '55P03'];
const networkErrors = ['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH'];

const types = {
  // BIGINT as a number: every stored integer is a safe integer.
  getTypeParser: ((oid: number, format: 'text' | 'binary') =>
    oid === pg.types.builtins.INT8 ? Number : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
};

/** Connections to PostgreSQL, with limits on their number, on waiting requests and on time. Retries transient errors. */
export class PostgresPool {
  readonly #pool: pg.Pool;
  readonly #options: PoolOptions;
  readonly #hosts: Hosts;
  readonly #sockets = new Set<Socket>();
  readonly #translated = new Map<string, { text: string; name: string }>();

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#hosts = new Hosts(options.address);
    const { channelBinding, keepAlive } = options.address;
    this.#pool = new pg.Pool({
      Client: this.#hosts.clientClass(options.statementMillis),
      onConnect: (client) => this.#hosts.check(client as HostClient),
      max: options.connections,
      connectionTimeoutMillis: options.statementMillis,
      idleTimeoutMillis: 60_000,
      keepAlive: keepAlive.isOn,
      keepAliveInitialDelayMillis: keepAlive.idleSeconds * 1000,
      enableChannelBinding: channelBinding !== 'disable',
      application_name: 'backscroll',
      types,
    });
    // An idle connection was lost: the pool has removed it, and the next request opens another.
    this.#pool.on('error', () => undefined);
    // If a connection in use is lost between two statements, the next statement fails.
    this.#pool.on('connect', (client) => {
      client.on('error', () => undefined);
      const { stream } = (client as unknown as { connection: { stream: Socket } }).connection;
      this.#sockets.add(stream);
      stream.once('close', () => this.#sockets.delete(stream));
    });
  }

  get connections(): number {
    return this.#options.connections;
  }

  get notesChanges(): boolean {
    return this.#options.changes;
  }

  get statementMillis(): number {
    return this.#options.statementMillis;
  }

  /** One statement, in its own transaction. */
  query(sql: string, ...values: Value[]): Promise<Row[]> {
    return this.queryWithin(this.#options.statementMillis, sql, ...values);
  }

  /** One statement with its own time limit. */
  queryWithin(millis: number, sql: string, ...values: Value[]): Promise<Row[]> {
    return this.#withRetries(millis, (client) => this.#run(client, sql, values, millis));
  }

  /** All or nothing. Retried from the start after transient errors. `statementMillis` is for long statements. */
  transaction<T>(work: (transaction: Transaction) => Promise<T>, statementMillis?: number): Promise<T> {
    const millis = statementMillis ?? this.#options.statementMillis;
    const run = (client: pg.PoolClient, sql: string, ...values: Value[]) => this.#run(client, sql, values, millis);
    return this.#withRetries(millis, async (client) => {
      await run(client, 'BEGIN');
      try {
        const result = await work({
          notesChanges: this.notesChanges,
          query: (sql, ...values) => run(client, sql, ...values),
        });
        await run(client, 'COMMIT');
        return result;
      } catch (error) {
        // If the rollback fails too, the connection is closed; the first error is reported.
        if (!isLost(error)) await run(client, 'ROLLBACK').catch(() => Object.assign(error as object, { isLost: true }));
        throw error;
      }
    });
  }

  /** A transaction that stays open while a generator yields; it is never retried. */
  async *open<T>(begin: string, work: (transaction: Transaction) => AsyncGenerator<T>): AsyncGenerator<T> {
    const { statementMillis } = this.#options;
    const client = await this.#connect();
    let isDone = false;
    try {
      const query = (sql: string, ...values: Value[]) => this.#run(client, sql, values, statementMillis);
      await query(begin);
      yield* work({ notesChanges: this.notesChanges, query });
      await query('COMMIT');
      isDone = true;
    } catch (error) {
      throw publicError(error);
    } finally {
      // After an early end, by an error or by the reader, the transaction is still open: the connection is closed.
      client.release(!isDone);
    }
  }

  /** Connections to a server that does not respond are destroyed, so that they do not delay the shutdown. */
  async close(): Promise<void> {
    await Promise.race([this.#pool.end(), sleep(closeMillis, undefined, { ref: false })]);
    for (const socket of this.#sockets) socket.destroy();
  }

  async #withRetries<T>(millis: number, work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    const deadline = performance.now() + millis;
    for (let attempt = 1; ; attempt += 1) {
      const client = await this.#connect(deadline);
      try {
        const result = await work(client);
        client.release();
        return result;
      } catch (error) {
        if (codeOf(error) === readOnly) this.#hosts.leave(client);
        client.release(isLost(error));
        if (!isRetryable(error)) throw publicError(error);
        if (attempt >= attemptsMax || performance.now() >= deadline) throw publicError(error);
      }
      await sleep(pauseMillis * attempt * (0.5 + Math.random()));
    }
  }

  async #connect(deadline = performance.now() + this.#options.statementMillis): Promise<HostClient> {
    if (this.#pool.waitingCount >= this.#options.connections * waitersPerConnection) {
      throw unavailable('all database connections are busy');
    }
    for (let attempt = 1; ; attempt += 1) {
      const round = Math.ceil(attempt / this.#hosts.count);
      try {
        return await this.#connectOnce();
      } catch (error) {
        const isLast = attempt >= attemptsMax * this.#hosts.count || performance.now() >= deadline;
        if (isLast || !this.#hosts.mayConnectElsewhere(error, isRetryable(error))) throw publicError(error, true);
      }
      // The next server is tried at once; a pause follows when all have failed.
      if (attempt % this.#hosts.count === 0) await sleep(pauseMillis * round * (0.5 + Math.random()));
    }
  }

  /** Connections from before a failover are closed. */
  async #connectOnce(): Promise<HostClient> {
    for (;;) {
      const client = (await this.#pool.connect()) as HostClient;
      if (!this.#hosts.isOutdated(client)) return client;
      client.release(true);
    }
  }

  async #run(client: pg.PoolClient, sql: string, values: readonly Value[], millis: number): Promise<Row[]> {
    const { text, name } = this.#toDialect(sql);
    const prepared = this.#options.prepared && values.length > 0 && !values.some(isLongList) ? { name } : {};
    const query = { text, values: values as Value[], query_timeout: millis, ...prepared };
    try {
      return (await client.query(query)).rows;
    } catch (error) {
      if (timedOut.test(messageOf(error))) cancel(client);
      throw error;
    }
  }

  /** `?` becomes `$1`, `$2`, …; each statement has one name. */
  #toDialect(sql: string): { text: string; name: string } {
    let translated = this.#translated.get(sql);
    if (translated === undefined) {
      let index = 0;
      const text = sql.replaceAll('?', () => `$${++index}`);
      translated = { text, name: `s${this.#translated.size}` };
      this.#translated.set(sql, translated);
    }
    return translated;
  }
}

/** A write that failed with 503 must not take effect later, so it is cancelled, on a separate connection. */
function cancel(client: pg.PoolClient): void {
  const { host, port, processID, secretKey } = client as unknown as Record<string, unknown>;
  const request = Buffer.alloc(16);
  for (const [index, field] of [16, cancelRequestCode, Number(processID), Number(secretKey)].entries()) {
    request.writeInt32BE(field | 0, index * 4);
  }
  const isLocal = `${host}`.startsWith('/');
  const socket = isLocal ? connect(`${host}/.s.PGSQL.${port}`) : connect(Number(port), `${host}`);
  socket.setTimeout(closeMillis, () => socket.destroy());
  socket.on('error', () => undefined).end(request);
}

const codeOf = (error: unknown): string => (error as { code?: string }).code ?? '';
const messageOf = (error: unknown): string => (error as Error).message ?? '';

/** The connection is closed or in an unknown state: it must not be used again. */
function isLost(error: unknown): boolean {
  if (error instanceof ServiceError) return 'isLost' in error;
  if (isNodeFailure(error)) return 'isLost' in (error as object);
  const code = codeOf(error);
  const isGone = networkErrors.includes(code) || code.startsWith('08') || code.startsWith('57P') || code === '25P02';
  return isGone || code === readOnly || 'isLost' in (error as object) || isTerminated(error);
}

/**
 * A distributed database has lost the connection to one of its nodes: the statement failed, but this connection is intact.
 * Citus reports most of these as internal errors, with the messages of its own client library.
 */
function isNodeFailure(error: unknown): boolean {
  if ((error as { severity?: string }).severity !== 'ERROR') return false;
  const code = codeOf(error);
  if (code.startsWith('08') || code.startsWith('57P') || code === '58030') return true;
  return code === 'XX000' && lostNode.test(messageOf(error));
}

function isTerminated(error: unknown): boolean {
  return /connection terminated|timeout expired|query read timeout|client has encountered a connection error|not queryable/i.test(
    messageOf(error),
  );
}

/** Messages of Citus, and of the client library by which its nodes connect to each other. */
const lostNode = new RegExp(
  [
    'SSL SYSCALL|SSL connection has been closed|closed the connection|connection not open|no connection to the server',
    'could not (?:receive data from|send data to|connect to) server|postmaster was shut down',
    'connection to the remote node|marked as essential|connection establishment for|wait event for node',
    'could not connect to any active placements|could not establish (?:any )?connection|could not find an available connection',
    'could not (?:commit transaction for shard|start copy)|failed to (?:commit|prepare) transaction|failed to complete COPY',
  ].join('|'),
  'i',
);
const timedOut = /query read timeout|timeout exceeded when trying to connect/i;

/** Whether a retry may succeed. False after a statement that timed out, and for a server without free resources. */
function isRetryable(error: unknown): boolean {
  if (error instanceof ServiceError || timedOut.test(messageOf(error))) return false;
  const code = codeOf(error);
  return conflicts.includes(code) || transient.includes(code) || isLost(error) || isNodeFailure(error);
}

/** The client only gets a 503; the cause is for the log. */
function publicError(error: unknown, isConnecting = false): Error {
  if (error instanceof ServiceError) return error;
  const code = codeOf(error);
  // Class 53: the server has no free disk space, memory or connections.
  const isTemporary =
    isConnecting || isRetryable(error) || isLost(error) || timeouts.includes(code) || code.startsWith('53');
  return isTemporary ? Object.assign(unavailable('the database is not available'), { cause: error }) : (error as Error);
}
